/** The problems of each split, which may be from different data sets. */
import type { DatasetOption } from "../../data/dataset.ts";
import { mathProblem, type MathProblem } from "../../data/problem.ts";
import { sourceWarnings, taskSources, type ProblemSource } from "../../data/task-sources.ts";
import { TroupeError } from "../../errors.ts";
import { showText } from "../../format.ts";
import type { Environment, OptionWarning } from "../environment.ts";
import { problemsOf, type ProblemSplits } from "../problems.ts";
import type { MathOptions } from "./options.ts";

export interface OpenMathProblems {
  readonly splits: ProblemSplits<MathProblem>;
  readonly data: NonNullable<Environment["data"]>;
  /** Malformed rows, and problems that training and evaluation share, within a set and between sets. */
  readonly warnings: readonly OptionWarning[];
}

/** @throws TroupeError `bad_data` if a data set is not available, `bad_arguments` for slices that share a row */
export async function openMathProblems(options: MathOptions): Promise<OpenMathProblems> {
  const sources: Record<string, ProblemSource> = {};
  for (const { dataset, splits } of bySet(options))
    Object.assign(sources, await taskSources({ dataset, splits }));
  const ordered = Object.fromEntries(
    Object.keys(options.splits).map((split) => [split, sources[split] as ProblemSource]),
  );
  rejectSharedIds(ordered);
  const data = Object.fromEntries(Object.entries(ordered).map(([split, { origin }]) => [split, origin]));
  const splits = await problemsOf(ordered, mathProblem);
  return { splits, data, warnings: await sourceWarnings(ordered, "dataset") };
}

interface SetSplits {
  readonly dataset: DatasetOption;
  readonly splits: Record<string, string>;
}

/** Slices of one set are opened together, so that they cannot share rows. */
function bySet({ dataset, splits }: MathOptions): readonly SetSplits[] {
  const sets = new Map<string, SetSplits>();
  for (const [name, given] of Object.entries(splits)) {
    const split = typeof given === "string" ? { dataset, slices: given } : given;
    const key = JSON.stringify(split.dataset);
    const set = sets.get(key) ?? { dataset: split.dataset, splits: {} };
    set.splits[name] = split.slices;
    sets.set(key, set);
  }
  return [...sets.values()];
}

/** A task is named by its problem's id alone. */
function rejectSharedIds(sources: Readonly<Record<string, ProblemSource>>): void {
  const seen = new Set<string>();
  for (const id of Object.values(sources).flatMap(({ ids }) => ids)) {
    if (seen.has(id))
      throw new TroupeError(
        "bad_data",
        `splits: two problems of different data sets have the id ${showText(id, 80)}; name a field with ids in \`fields\``,
      );
    seen.add(id);
  }
}
