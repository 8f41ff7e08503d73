/** Runs by the names that people give them. */
import { isAbsolute, join } from "node:path";
import { isPresentSync } from "../present.ts";
import { TroupeError } from "../errors.ts";
import { didYouMean } from "../nearest.ts";
import { listRuns } from "../runs/read.ts";
import { command, runsOption } from "../command-line.ts";

/** The folder of a run given by name or folder. */
export async function findRun(given: string, folder: string): Promise<string> {
  // Below the folder of runs, `../one` would be another run than the one it names from here.
  const isPath = isAbsolute(given) || given.split(/[/\\]/).some((part) => part === "." || part === "..");
  for (const directory of isPath ? [given] : [join(folder, given), given]) {
    if (isPresentSync(join(directory, "recipe.yaml"))) return directory;
  }
  if (isPresentSync(given)) {
    const problem = `${given} is neither a run (no recipe.yaml) nor a model directory (no config.json)`;
    throw new TroupeError("bad_arguments", problem);
  }
  if (/[/\\]/.test(given)) {
    const problem = `there is no directory ${given}, relative to ${process.cwd()}`;
    throw new TroupeError("bad_arguments", `${problem}; give a run's name, its folder, or a model directory`);
  }
  const names = (await listRuns(folder)).map((run) => run.name);
  const hint =
    didYouMean(given, names) ?? (names.length === 0 ? noRuns(folder)[0] : `there are ${names.join(", ")}`);
  throw new TroupeError("bad_arguments", `there is no run ${given} in ${folder}; ${hint}`);
}

export function noRuns(folder: string): string[] {
  const creating = command("train", "plan-path", ...runsOption(folder));
  return [`no runs in ${folder}; \`${creating}\` creates one`];
}
