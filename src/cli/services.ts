/** What an environment needs of this machine. */
import type { Environment } from "../environments/environment.ts";
import { statOf } from "../present.ts";
import { layoutOf } from "../runs/layout.ts";
import { checkSandbox } from "../sandbox/from-environment.ts";

/** Says what the environment needs and this machine lacks, before models are loaded. @throws TroupeError */
export async function checkMachine(environment: Environment): Promise<void> {
  environment.checkMachine?.();
  if (environment.runsPrograms === true) await checkSandbox(environment.packages);
}

/** Whether programs of the run were recorded: commands that repeat it may need nothing of this machine. */
export async function hasPrograms(run: string): Promise<boolean> {
  const recorded = await statOf(layoutOf(run).programs);
  return recorded !== null && recorded.size > 0;
}
