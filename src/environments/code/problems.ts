/** The programming problems of each split. */
import { codeProblem } from "../../data/problem-kinds.ts";
import { sourceWarnings } from "../../data/source-warnings.ts";
import { taskSources } from "../../data/task-sources.ts";
import type { Environment, OptionWarning } from "../environment.ts";
import { problemsOf, type ProblemSplits } from "../problems.ts";
import type { CodeOptions } from "./options.ts";

export interface OpenProblems {
  readonly splits: ProblemSplits;
  readonly data: NonNullable<Environment["data"]>;
  readonly warnings: readonly OptionWarning[];
}

/** @throws TroupeError `bad_data` if the data set is not available, `bad_arguments` for slices that share a row */
export async function openProblems({
  dataset,
  splits,
}: Pick<CodeOptions, "dataset" | "splits">): Promise<OpenProblems> {
  const sources = await taskSources({ dataset, splits });
  const data = Object.fromEntries(Object.entries(sources).map(([split, { origin }]) => [split, origin]));
  return {
    splits: await problemsOf(sources, codeProblem),
    data,
    warnings: await sourceWarnings(sources, "dataset"),
  };
}
