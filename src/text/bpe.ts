/**
 * Byte-pair encoding (Sennrich et al. 2016, arXiv:1508.07909, algorithm 1) on a table of ids, for vocabularies of any
 * size. If several merges apply, the one listed first goes first, then the leftmost, as in the `tokenizers` library.
 */
import { PairTable, type EntryTable } from "./tables.ts";

export interface BpeRules {
  /** Ids of the entries that text may become. Entries not listed here are never produced. */
  readonly ids: Pick<EntryTable, "find">;
  /** Pairs of entries in order of priority: "a b" or ["a", "b"]. */
  readonly merges: readonly (string | readonly string[])[];
  /** For a character without an entry; absent: such characters are dropped. */
  readonly unknown: number | undefined;
  /** One unknown token for consecutive unknown characters. */
  readonly fuseUnknown: boolean;
  /** A character without an entry becomes the entries `<0x00>` … `<0xFF>` of its bytes. */
  readonly byteFallback: boolean;
  /** A word that is an entry stays whole, whatever the merges are. */
  readonly ignoreMerges: boolean;
  /** How entries spell a word; absent: like the word. */
  readonly spell?: ((word: string) => string) | undefined;
}

const cachedWords = 10_000;
const longestCached = 64;
/** A queued merge is one number, rank · 2³² + position: the smallest goes first. */
const positions = 2 ** 32;

export class Bpe {
  readonly #rules: BpeRules;
  readonly #ranks: PairTable;
  /** The result of each rank's merge. */
  readonly #merged: Int32Array;
  readonly #cache = new Map<string, readonly number[]>();

  /** @throws Error if a merge is not of two entries whose concatenation is an entry */
  constructor(rules: BpeRules, isExcluded: (entry: string) => boolean) {
    this.#rules = rules;
    this.#ranks = new PairTable(rules.merges.length);
    this.#merged = new Int32Array(rules.merges.length);
    for (let rank = 0; rank < rules.merges.length; rank++) this.#addMerge(rank, isExcluded);
  }

  /** Loading a model calls this some 300,000 times. */
  #addMerge(rank: number, isExcluded: (entry: string) => boolean): void {
    const { ids, merges } = this.#rules;
    const merge = merges[rank] as string | readonly string[];
    const space = typeof merge === "string" ? merge.indexOf(" ", 1) : 0;
    const left = typeof merge === "string" ? merge.slice(0, space) : (merge[0] ?? "");
    const right = typeof merge === "string" ? merge.slice(space + 1) : (merge[1] ?? "");
    const leftId = ids.find(left);
    const rightId = ids.find(right);
    const whole = ids.find(left, right);
    if (leftId >= 0 && rightId >= 0 && whole >= 0) {
      this.#ranks.set(leftId, rightId, rank);
      this.#merged[rank] = whole;
    } else if (![left, right, left + right].some(isExcluded)) {
      throw new Error(`merge ${rank} is of ${JSON.stringify([left, right])}, which make no entry`);
    }
  }

  /** The ids of one word as the pre-tokenizer separates them. */
  encode(word: string): readonly number[] {
    const known = this.#cache.get(word);
    if (known !== undefined) return known;
    const ids = this.#encodeNew(this.#rules.spell?.(word) ?? word);
    if (word.length > longestCached) return ids;
    if (this.#cache.size === cachedWords) this.#cache.clear();
    this.#cache.set(word, ids);
    return ids;
  }

  #encodeNew(spelled: string): readonly number[] {
    const whole = this.#rules.ignoreMerges ? this.#rules.ids.find(spelled) : -1;
    return whole >= 0 ? [whole] : this.#merge(this.#characters(spelled));
  }

  #characters(word: string): number[] {
    const { ids, unknown, fuseUnknown } = this.#rules;
    const found: number[] = [];
    let isUnknownBefore = false;
    for (const character of word) {
      const id = ids.find(character);
      const bytes = id >= 0 ? [id] : this.#bytes(character);
      if (bytes !== undefined) found.push(...bytes);
      else if (unknown !== undefined && !(fuseUnknown && isUnknownBefore)) found.push(unknown);
      isUnknownBefore = bytes === undefined;
    }
    return found;
  }

  #bytes(character: string): number[] | undefined {
    if (!this.#rules.byteFallback) return undefined;
    const names = Array.from(
      new TextEncoder().encode(character),
      (byte) => `<0x${byte.toString(16).toUpperCase().padStart(2, "0")}>`,
    );
    const found = names.map((name) => this.#rules.ids.find(name));
    return found.includes(-1) ? undefined : found;
  }

  /** Merges in place: `next` links the remaining places, a queue holds the applicable merges. */
  #merge(ids: number[]): number[] {
    const next = Int32Array.from(ids, (_, at) => at + 1);
    const previous = Int32Array.from(ids, (_, at) => at - 1);
    const queue = new MergeQueue();
    const rankAt = (at: number): number => {
      const after = next[at] as number;
      return after < ids.length ? this.#ranks.get(ids[at] as number, ids[after] as number) : -1;
    };
    const offer = (at: number): void => {
      const rank = at < 0 ? -1 : rankAt(at);
      if (rank >= 0) queue.push(rank * positions + at);
    };
    for (const at of ids.keys()) offer(at);
    for (let best = queue.pop(); best !== undefined; best = queue.pop()) {
      const [rank, at] = [Math.floor(best / positions), best % positions];
      // A neighbour may have been merged since this was queued.
      if (ids[at] === gone || rankAt(at) !== rank) continue;
      const [eaten, after] = [next[at] as number, next[next[at] as number] ?? ids.length];
      ids[at] = this.#merged[rank] as number;
      ids[eaten] = gone;
      next[at] = after;
      if (after < ids.length) previous[after] = at;
      offer(previous[at] as number);
      offer(at);
    }
    return ids.filter((id) => id !== gone);
  }
}

const gone = -1;

/** A binary heap of numbers, smallest first. */
class MergeQueue {
  readonly #heap: number[] = [];

  push(value: number): void {
    const heap = this.#heap;
    let at = heap.push(value) - 1;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if ((heap[parent] as number) <= value) break;
      heap[at] = heap[parent] as number;
      at = parent;
    }
    heap[at] = value;
  }

  pop(): number | undefined {
    const heap = this.#heap;
    const [first, last] = [heap[0], heap.pop()];
    if (last === undefined || heap.length === 0) return first;
    let at = 0;
    for (let child = 1; child < heap.length; child = 2 * at + 1) {
      if (child + 1 < heap.length && (heap[child + 1] as number) < (heap[child] as number)) child++;
      if ((heap[child] as number) >= last) break;
      heap[at] = heap[child] as number;
      at = child;
    }
    heap[at] = last;
    return first;
  }
}
