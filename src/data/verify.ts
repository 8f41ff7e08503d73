/** Checks a data set: its files, rows and solutions, and what it shares with others. */
import { checkCancelled, checksumOf } from "./cache.ts";
import { findOverlaps, type Overlap } from "./overlaps.ts";
import type { OpenDataset } from "./open.ts";
import type { FailingProblem, MalformedRow } from "./prepared.ts";
import { isMathProblem, type AnyProblem, type CodeProblem } from "./problem.ts";
import { sourceOf, type ProblemSource } from "./task-sources.ts";

export interface SplitReport {
  readonly split: string;
  readonly rows: number;
  /** As published; null: not known. */
  readonly expectedRows: number | null;
  readonly problems: number;
  readonly malformed: readonly MalformedRow[];
  /** Files whose contents do not match their checksum. */
  readonly damagedFiles: readonly string[];
  /** Null: no solutions were run. */
  readonly solutions: SolutionsReport | null;
}

export interface SolutionsReport {
  readonly passed: number;
  /** Problems without a solution. */
  readonly without: number;
  readonly failed: readonly FailingProblem[];
}

export interface OverlapReport {
  readonly train: string;
  readonly evaluation: string;
  readonly problems: number;
  readonly overlaps: readonly Overlap[];
}

/** Why a solution failed; null: it passed all tests. */
export type RunSolution = (
  problem: CodeProblem,
  solution: string,
  signal: AbortSignal | undefined,
) => Promise<string | null>;

export interface Verification {
  /** Null: solutions are not run. */
  readonly run: RunSolution | null;
  /** Concurrent solutions. */
  readonly atOnce: number;
  readonly signal?: AbortSignal | undefined;
  readonly ran?: ((done: number, of: number) => void) | undefined;
}

/** Stores which problems fail their own tests. @throws TroupeError if the split is not available */
export async function verifySplit(
  dataset: OpenDataset,
  split: string,
  verification: Verification,
): Promise<SplitReport> {
  const store = await dataset.problems(split);
  const source = await sourceOf(dataset, split);
  const solutions = verification.run && (await runSolutions(source, verification.run, verification));
  if (solutions !== null) await dataset.recordFailing(split, solutions.failed);
  return {
    split,
    rows: store.rows,
    expectedRows: dataset.expectedRows(split),
    problems: store.problems.length,
    malformed: store.malformed,
    damagedFiles: await findDamage(dataset, split),
    solutions,
  };
}

async function findDamage({ snapshot, splits }: OpenDataset, split: string): Promise<string[]> {
  const damaged: string[] = [];
  for (const file of splits[split] ?? []) {
    const { digest, size } = file;
    const place = await snapshot.present(file);
    if (place === null || digest === undefined) continue;
    if ((await checksumOf(place, { digest, size })) !== digest.hex) damaged.push(place);
  }
  return damaged;
}

async function runSolutions(
  source: ProblemSource,
  run: RunSolution,
  { atOnce, signal, ran }: Verification,
): Promise<SolutionsReport> {
  const failed: FailingProblem[] = [];
  let [next, done, passed, without] = [0, 0, 0, 0];
  const work = async (): Promise<void> => {
    while (next < source.size) {
      const index = next++;
      checkCancelled(signal);
      const problem = await source.at(index);
      const reason = await reasonOf(problem, run, signal);
      if (reason === undefined) without++;
      else if (reason === null) passed++;
      else failed.push({ row: source.rows[index] ?? index, id: problem.id, reason });
      ran?.(++done, source.size);
    }
  };
  await Promise.all(Array.from({ length: Math.max(1, atOnce) }, work));
  return { passed, without, failed: failed.toSorted((a, b) => a.row - b.row) };
}

/** Why its solution failed; null: it passed; undefined: it has none. */
async function reasonOf(problem: AnyProblem, run: RunSolution, signal: AbortSignal | undefined) {
  if (isMathProblem(problem)) return undefined;
  const [solution] = problem.solutions;
  return solution === undefined ? undefined : run(problem, solution, signal);
}

/** What the second source shares with the first. */
export async function overlapReport(train: NamedSource, evaluation: NamedSource): Promise<OverlapReport> {
  const overlaps = findOverlaps(await train.source.shingled(), await evaluation.source.shingled());
  return { train: train.name, evaluation: evaluation.name, problems: evaluation.source.size, overlaps };
}

export interface NamedSource {
  /** `mbpp test`, for messages. */
  readonly name: string;
  readonly source: ProblemSource;
}

/** Whether it contains findings. */
export function hasFindings({
  rows,
  expectedRows,
  malformed,
  damagedFiles,
  solutions,
}: SplitReport): boolean {
  const isOtherSize = expectedRows !== null && expectedRows !== rows;
  return (
    isOtherSize || malformed.length > 0 || damagedFiles.length > 0 || (solutions?.failed.length ?? 0) > 0
  );
}
