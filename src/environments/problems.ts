/** Problems of data sets as tasks: found by their ids, so that an episode does not store tests and answers. */
import type { AnyProblem, CodeProblem } from "../data/problem.ts";
import type { ProblemSource } from "../data/task-sources.ts";
import { TroupeError } from "../errors.ts";
import type { FiniteTasks } from "./environment.ts";

/** Problems of a split. */
export interface Problems<Kind = CodeProblem> {
  /** In order; all distinct. */
  readonly ids: readonly string[];
  at(index: number): Promise<Kind>;
}

export type ProblemSplits<Kind = CodeProblem> = Readonly<Record<string, Problems<Kind>>>;

/**
 * The sources with problems of one kind.
 * @param kind throws TroupeError `bad_arguments` for the other; asked of one problem of each split
 */
export async function problemsOf<Kind>(
  sources: Readonly<Record<string, ProblemSource>>,
  kind: (problem: AnyProblem) => Kind,
): Promise<ProblemSplits<Kind>> {
  for (const source of Object.values(sources)) kind(await source.at(0));
  const typed = Object.entries(sources).map(([split, source]) => [
    split,
    { ids: source.ids, at: async (index: number) => kind(await source.at(index)) },
  ]);
  return Object.fromEntries(typed) as ProblemSplits<Kind>;
}

/** Problems in memory, for tests and for programs with their own. */
export function problemList<Kind extends { readonly id: string }>(problems: readonly Kind[]): Problems<Kind> {
  return { ids: problems.map(({ id }) => id), at: async (index) => problems[index] as Kind };
}

/** Splits whose problems are not open yet. */
export function closedSplits(splits: Readonly<Record<string, unknown>>): ProblemSplits<never> {
  const closed: Problems<never> = { ids: [], at: () => Promise.reject(new RangeError("not open yet")) };
  return Object.fromEntries(Object.keys(splits).map((split) => [split, closed]));
}

/** A problem by its id. */
export type FindProblem<Kind = CodeProblem> = (id: string) => Promise<Kind>;

/** @returns a function that throws TroupeError `bad_arguments` for an unknown id */
export function findProblemIn<Kind>(splits: ProblemSplits<Kind>): FindProblem<Kind> {
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

export function taskSourceOf<Task>(
  { ids }: Pick<Problems, "ids">,
  taskOf: (id: string) => Task,
): FiniteTasks<Task> {
  const at = (index: number): Task => {
    const id = ids[index];
    if (id !== undefined) return taskOf(id);
    const what = ids.length === 0 ? "the problems have not been downloaded" : `there is no problem ${index}`;
    throw new TroupeError("bad_data", what);
  };
  return { size: ids.length, at };
}
