/** What a run lends to its environment. */
import type { Services } from "../environments/environment.ts";
import { ServiceLog } from "../calls/services.ts";
import { openRecordedCalls } from "../runs/recorded-calls.ts";
import type { Run } from "../runs/run.ts";
import { cachedSandbox } from "../sandbox/cached.ts";
import { openProvedSandbox } from "../environments/proved-sandbox.ts";
import { folderFiles } from "../files/folder.ts";
import type { PackageSet } from "../sandbox/packages/sets.ts";
import { routedSandbox } from "../sandbox/packages/routed.ts";
import { settleAll } from "../settle.ts";
import { toolService } from "../tools/open.ts";

export interface RunServices extends Required<Services> {
  /** Opens the sandbox before its first program. @throws TroupeError `no_sandbox` */
  openSandbox(packages?: PackageSet): Promise<void>;
  close(): Promise<void>;
}

/** A sandbox that the first program opens. The run's folder says which one it is, and keeps what programs did. */
export async function servicesOf(
  run: Pick<Run, "layout" | "recordSandbox">,
  open: typeof openProvedSandbox = openProvedSandbox,
): Promise<RunServices> {
  const log = new ServiceLog();
  const openCounted = (packages?: PackageSet) => open(packages, log.named("sandbox", { onlyProblems: true }));
  const routed = routedSandbox(openCounted, ({ backend, description = "" }) =>
    run.recordSandbox({ backend, description }),
  );
  const recorded = await openRecordedCalls(run.layout.programs);
  const files = folderFiles(run.layout.files);
  const sandbox = cachedSandbox(routed, recorded, files);
  const tools = toolService({ sandbox, recorded });
  return {
    sandbox,
    recorded,
    files,
    tools,
    log,
    openSandbox: (packages) => routed.open(packages),
    close: async () => void (await settleAll([tools.close(), sandbox.close()])),
  };
}
