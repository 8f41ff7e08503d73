/** What is lent to an environment: a sandbox, tools, files, recorded calls, a gateway; in a run, and outside one. */
import { unrecordedCalls } from "../calls/recorded.ts";
import { retrying, type RetryOptions } from "../calls/retry.ts";
import { ServiceLog } from "../calls/services.ts";
import type { Services } from "../environments/environment.ts";
import { openProvedSandbox } from "../environments/proved-sandbox.ts";
import { folderFiles } from "../files/folder.ts";
import { memoryFiles } from "../files/memory.ts";
import { Gateway } from "../gateway/gateway.ts";
import { layoutOf } from "../runs/layout.ts";
import { openRecordedCalls, readRecordedCalls } from "../runs/recorded-calls.ts";
import type { Run } from "../runs/run.ts";
import { cachedSandbox } from "../sandbox/cached.ts";
import { routedSandbox } from "../sandbox/packages/routed.ts";
import type { PackageSet } from "../sandbox/packages/sets.ts";
import { settleAll } from "../settle.ts";
import { toolService } from "../tools/open.ts";
import type { NamedTeam } from "./teams.ts";

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
  const gateway = new Gateway();
  return {
    sandbox,
    recorded,
    files,
    tools,
    log,
    gateway,
    openSandbox: (packages) => routed.open(packages),
    close: async () => void (await settleAll([gateway.close(), tools.close(), sandbox.close()])),
  };
}

/**
 * Opens the tools of all roles: servers that cannot be reached are reported before anything is trained.
 * @throws TroupeError `bad_recipe`, `bad_data`, `no_sandbox`; ServiceError
 */
export async function openTools(
  teams: readonly NamedTeam[],
  services: Pick<RunServices, "tools" | "openSandbox">,
  retries: RetryOptions,
  signal: AbortSignal,
): Promise<void> {
  for (const { tools } of teams.flatMap(({ team }) => team.roles)) {
    if (tools === undefined) continue;
    if (tools.settings.some(({ name }) => name === "python")) await services.openSandbox();
    await retrying(() => services.tools.open(tools.settings), retries, signal);
  }
}

/**
 * Lends a sandbox, opened by the first program that runs and closed at the end, outside a training.
 * @param run folder of a run whose programs are not run again: what they did there is what they do here
 */
export async function withServices<Value>(
  use: (services: Services) => Promise<Value>,
  run?: string,
): Promise<Value> {
  const recorded = run === undefined ? unrecordedCalls() : await readRecordedCalls(layoutOf(run).programs);
  const files = memoryFiles(run === undefined ? undefined : folderFiles(layoutOf(run).files));
  const sandbox = cachedSandbox(
    routedSandbox((packages) => openProvedSandbox(packages)),
    recorded,
    files,
  );
  const tools = toolService({ sandbox, recorded });
  const gateway = new Gateway();
  try {
    return await use({ sandbox, recorded, files, tools, gateway });
  } finally {
    await settleAll([gateway.close(), tools.close(), sandbox.close()]);
  }
}
