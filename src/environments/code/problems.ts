/** The problems of each split, found by their ids: an episode does not store tests. */
import type { Environment, FiniteTasks, OptionWarning } from "../environment.ts";
import { sourceWarnings } from "../../data/source-warnings.ts";
import { taskSources } from "../../data/task-sources.ts";
import { TroupeError } from "../../errors.ts";
import type { CodeProblem } from "../../data/problem.ts";
import type { CodeOptions } from "./options.ts";

/** Problems of a split. */
export interface Problems {
  /** In order; all distinct. */
  readonly ids: readonly string[];
  at(index: number): Promise<CodeProblem>;
}

export type ProblemSplits = Readonly<Record<string, Problems>>;

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
  return { splits: sources, data, warnings: await sourceWarnings(sources, "dataset") };
}

/** Problems in memory, for tests and for programs with their own. */
export function problemList(problems: readonly CodeProblem[]): Problems {
  return { ids: problems.map(({ id }) => id), at: async (index) => problems[index] as CodeProblem };
}

/** A problem by its id. */
export type FindProblem = (id: string) => Promise<CodeProblem>;

/** @returns a function that throws TroupeError `bad_arguments` for an unknown id */
export function findProblemIn(splits: ProblemSplits): FindProblem {
  const places = new Map(
    Object.values(splits).flatMap((problems) =>
      problems.ids.map((id, index) => [id, () => problems.at(index)] as const),
    ),
  );
  return async (id) => {
    const find = places.get(id);
    if (find !== undefined) return find();
    const [example = "none"] = places.keys();
    throw new TroupeError(
      "bad_arguments",
      `there is no problem ${id} in the splits; they have ${example}, for example`,
    );
  };
}

export function taskSourceOf<Task>({ ids }: Problems, taskOf: (id: string) => Task): FiniteTasks<Task> {
  return { size: ids.length, at: (index) => taskOf(ids[index] as string) };
}
