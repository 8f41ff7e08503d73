/**
 * The data of the tasks is recorded in the run's folder. A run resumed on other data continues, like one whose modules
 * changed; the change is logged and recorded.
 */
import type { Environment } from "../environments/environment.ts";
import type { Warning } from "../recipes/validation/warnings.ts";
import type { DataOrigin } from "../runs/input-records.ts";
import type { Run } from "../runs/run.ts";

type Data = NonNullable<Environment["data"]>;

/** Call once, when the run is open. @returns a warning for each split with other tasks than before */
export async function noteData(
  { data = {} }: Pick<Environment, "data">,
  run: Pick<Run, "recordData">,
): Promise<readonly Warning[]> {
  const before = await run.recordData(data);
  return before === null ? [] : changesBetween(before, data);
}

function changesBetween(before: Data, now: Data): readonly Warning[] {
  return Object.entries(before).flatMap(([split, was]) => {
    const is = now[split];
    if (is === undefined || is.digest === was.digest) return [];
    const problem = `the tasks of ${split} have changed since the run started (${showOrigin(was)}, now ${showOrigin(is)})`;
    const fix =
      "results before and after the change may not be comparable; restore the data set, or start a new run";
    return [{ key: "environment.dataset", problem, fix }];
  });
}

function showOrigin({ commit, problems, digest }: DataOrigin): string {
  const at = commit === null ? "" : `commit ${commit.slice(0, 12)}, `;
  return `${at}${problems} problems, content hash ${digest.slice(0, 12)}`;
}
