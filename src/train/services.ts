/** What a run lends to its environment. */
import type { Services } from "../environments/environment.ts";
import { openRecordedCalls } from "../runs/recorded-calls.ts";
import type { Run } from "../runs/run.ts";
import { cachedSandbox } from "../sandbox/cached.ts";
import { openSandboxOfMachine } from "../sandbox/from-environment.ts";
import { lazySandbox } from "../sandbox/lazy.ts";
import type { Sandbox } from "../sandbox/sandbox.ts";

export interface RunServices extends Required<Services> {
  /** Opens the sandbox before its first program. @throws TroupeError `no_sandbox` */
  openSandbox(): Promise<void>;
  close(): Promise<void>;
}

/** A sandbox that the first program opens. The run's folder says which one it is, and keeps what programs did. */
export async function servicesOf(
  run: Pick<Run, "layout" | "recordSandbox">,
  open: () => Promise<Sandbox> = openSandboxOfMachine,
): Promise<RunServices> {
  const opening = lazySandbox(open, ({ backend, description = "" }) =>
    run.recordSandbox({ backend, description }),
  );
  const recorded = await openRecordedCalls(run.layout.programs);
  const sandbox = cachedSandbox(opening, recorded);
  return { sandbox, recorded, openSandbox: () => opening.open(), close: () => sandbox.close() };
}
