/** What commands lend to environments: a sandbox, opened by the first program that runs, closed at the end. */
import { stat } from "node:fs/promises";
import type { Environment, Services } from "../environments/environment.ts";
import { layoutOf } from "../runs/layout.ts";
import { readRecordedCalls, unrecordedCalls } from "../runs/recorded-calls.ts";
import { cachedSandbox } from "../sandbox/cached.ts";
import { checkSandbox, openSandboxOfMachine } from "../sandbox/from-environment.ts";
import { routedSandbox } from "../sandbox/packages/routed.ts";
import { folderFiles } from "../files/folder.ts";
import { memoryFiles } from "../files/memory.ts";
import { settleAll } from "../settle.ts";
import { toolService } from "../tools/open.ts";

/** Says what the environment needs and this machine lacks, before models are loaded. @throws TroupeError */
export async function checkMachine(environment: Environment): Promise<void> {
  environment.checkMachine?.();
  if (environment.runsPrograms === true) await checkSandbox(environment.packages);
}

/** Whether programs of the run were recorded: commands that repeat it may need nothing of this machine. */
export async function hasPrograms(run: string): Promise<boolean> {
  const recorded = await stat(layoutOf(run).programs).catch(() => null);
  return recorded !== null && recorded.size > 0;
}

/** @param run folder of a run whose programs are not run again: what they did there is what they do here */
export async function withServices<Value>(
  use: (services: Services) => Promise<Value>,
  run?: string,
): Promise<Value> {
  const recorded = run === undefined ? unrecordedCalls() : await readRecordedCalls(layoutOf(run).programs);
  const files = memoryFiles(run === undefined ? undefined : folderFiles(layoutOf(run).files));
  const sandbox = cachedSandbox(routedSandbox(openSandboxOfMachine), recorded, files);
  const tools = toolService({ sandbox, recorded });
  try {
    return await use({ sandbox, recorded, files, tools });
  } finally {
    await settleAll([tools.close(), sandbox.close()]);
  }
}
