/**
 * Finds problems that are in both training and evaluation data, even from different data sets. They are compared by their
 * runs of eight words (shingles), ignoring case, punctuation and line breaks. (The 16 problems that CoopHumanEval took from
 * HumanEval share at least 56 % of them; no two different problems of HumanEval share more than 26 %.)
 */

const run = 8;

/** Letters and digits in lower case; `has_close_elements` is three words. */
export function wordsOf(text: string): readonly string[] {
  return (
    text
      .normalize("NFKC")
      .toLowerCase()
      .match(/[\p{L}\p{N}]+/gu) ?? []
  );
}

/** Distinct hashes of all word runs, in ascending order; a shorter text is one run. Shape [≥ 1]. */
export function shinglesOf(text: string): Uint32Array {
  const words = wordsOf(text);
  const hashes = new Set<number>();
  for (let start = 0; start === 0 || start + run <= words.length; start++)
    hashes.add(hashOf(words.slice(start, start + run)));
  return Uint32Array.from(hashes).toSorted();
}

/** FNV-1a of 32 bits over UTF-16 units, words separated. */
function hashOf(words: readonly string[]): number {
  let hash = 0x811c9dc5;
  for (const word of words) {
    for (let at = 0; at < word.length; at++) hash = Math.imul(hash ^ word.charCodeAt(at), 0x01000193);
    hash = Math.imul(hash ^ 0x20, 0x01000193);
  }
  return hash >>> 0;
}

export interface ShingledProblem {
  readonly id: string;
  /** Of its prompt. */
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
/** Word runs in more evaluation problems than this are boilerplate of a site; also in more training problems, and a hundredth of them. */
const standingPhrase = 20;

/** For each evaluation problem the most similar training problem, if any; most similar first. */
export function findOverlaps(
  train: readonly ShingledProblem[],
  evaluation: readonly ShingledProblem[],
): readonly Overlap[] {
  const index = indexOf(evaluation);
  const phrases = phrasesIn(train, index);
  const best = new Map<number, Overlap>();
  for (const problem of train)
    for (const [position, shared] of sharedWith(problem, index, phrases)) {
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

/** "where m and n are relatively prime positive integers" */
function phrasesIn(train: readonly ShingledProblem[], index: Index): ReadonlySet<number> {
  const counts = new Map<number, number>();
  for (const { shingles } of train)
    for (const shingle of shingles)
      if (index.has(shingle)) counts.set(shingle, (counts.get(shingle) ?? 0) + 1);
  const most = Math.max(standingPhrase, train.length / 100);
  const common = [...counts].filter(([, count]) => count > most).map(([shingle]) => shingle);
  return new Set([
    ...common,
    ...[...index].filter(([, { length }]) => length > standingPhrase).map(([one]) => one),
  ]);
}

function sharedWith(
  { shingles }: ShingledProblem,
  index: Index,
  phrases: ReadonlySet<number>,
): ReadonlyMap<number, number> {
  const shared = new Map<number, number>();
  for (const shingle of shingles) {
    const positions = index.get(shingle) ?? [];
    // A problem that many share as a whole is still the same problem.
    if (phrases.has(shingle) && shingles.length > 1) continue;
    for (const position of positions) shared.set(position, (shared.get(position) ?? 0) + 1);
  }
  return shared;
}

function overlapOf(train: ShingledProblem, evaluation: ShingledProblem, shared: number): Overlap {
  const fewer = Math.min(train.shingles.length, evaluation.shingles.length);
  const isSame = areEqual(train.shingles, evaluation.shingles);
  return { train: train.id, evaluation: evaluation.id, share: isSame ? 1 : shared / fewer, isSame };
}

function areEqual(one: Uint32Array, other: Uint32Array): boolean {
  return one.length === other.length && one.every((shingle, position) => shingle === other[position]);
}
