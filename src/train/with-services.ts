/** What is lent to environments outside a training: a sandbox, opened by the first program that runs, closed at the end. */
import type { Services } from "../environments/environment.ts";
import { folderFiles } from "../files/folder.ts";
import { memoryFiles } from "../files/memory.ts";
import { layoutOf } from "../runs/layout.ts";
import { unrecordedCalls } from "../calls/recorded.ts";
import { readRecordedCalls } from "../runs/recorded-calls.ts";
import { cachedSandbox } from "../sandbox/cached.ts";
import { openProvedSandbox } from "../environments/proved-sandbox.ts";
import { routedSandbox } from "../sandbox/packages/routed.ts";
import { settleAll } from "../settle.ts";
import { toolService } from "../tools/open.ts";

/** @param run folder of a run whose programs are not run again: what they did there is what they do here */
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
  try {
    return await use({ sandbox, recorded, files, tools });
  } finally {
    await settleAll([tools.close(), sandbox.close()]);
  }
}
