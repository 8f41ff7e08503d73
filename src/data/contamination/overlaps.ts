/** Finds problems that are in both training and evaluation data, even from different data sets. */

export interface ShingledProblem {
  readonly id: string;
  /** contamination/shingles.ts */
  readonly shingles: Uint32Array;
}

export interface Overlap {
  readonly train: string;
  readonly evaluation: string;
  /** The share of the shorter problem's word runs that the other contains: from 0.4 to 1. */
  readonly share: number;
  /** Only case, punctuation and white space differ. */
  readonly isSame: boolean;
}

/** A smaller share is common phrases: "given a string, return". */
const similarShare = 0.4;
/** Word runs in more evaluation problems than this are boilerplate of a site. */
const standingPhrase = 20;

/** For each evaluation problem the most similar training problem, if any; most similar first. */
export function findOverlaps(
  train: readonly ShingledProblem[],
  evaluation: readonly ShingledProblem[],
): readonly Overlap[] {
  const index = indexOf(evaluation);
  const best = new Map<number, Overlap>();
  for (const problem of train)
    for (const [position, shared] of sharedWith(problem, index)) {
      const other = evaluation[position] as ShingledProblem;
      const overlap = overlapOf(problem, other, shared);
      if (overlap.share >= Math.max(similarShare, best.get(position)?.share ?? 0))
        best.set(position, overlap);
    }
  return [...best.values()].toSorted((a, b) => b.share - a.share || (a.evaluation < b.evaluation ? -1 : 1));
}

type Index = ReadonlyMap<number, readonly number[]>;

/** By word run, the positions of the problems that contain it. */
function indexOf(problems: readonly ShingledProblem[]): Index {
  const index = new Map<number, number[]>();
  for (const [position, { shingles }] of problems.entries())
    for (const shingle of shingles) {
      const positions = index.get(shingle);
      if (positions === undefined) index.set(shingle, [position]);
      else positions.push(position);
    }
  return index;
}

function sharedWith({ shingles }: ShingledProblem, index: Index): ReadonlyMap<number, number> {
  const shared = new Map<number, number>();
  for (const shingle of shingles) {
    const positions = index.get(shingle) ?? [];
    // A problem that many share as a whole is still the same problem.
    if (positions.length > standingPhrase && shingles.length > 1) continue;
    for (const position of positions) shared.set(position, (shared.get(position) ?? 0) + 1);
  }
  return shared;
}

function overlapOf(train: ShingledProblem, evaluation: ShingledProblem, shared: number): Overlap {
  const [fewer, more] = [train.shingles.length, evaluation.shingles.length].toSorted((a, b) => a - b);
  return {
    train: train.id,
    evaluation: evaluation.id,
    share: shared / (fewer ?? 1),
    isSame: fewer === more && shared === fewer,
  };
}
