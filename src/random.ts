/**
 * Random numbers come from a key derived from its path (run, step, task, turn, role, sample), never from a global
 * generator: the same path gives the same numbers whatever else runs.
 */
import { uniformFloat64 } from "pure-rand/distribution/uniformFloat64";
import { uniformInt } from "pure-rand/distribution/uniformInt";
import { xoroshiro128plusFromState } from "pure-rand/generator/xoroshiro128plus";
import type { RandomGenerator } from "pure-rand/types/RandomGenerator";
import { TroupeError } from "./errors.ts";

export type Generator = RandomGenerator;

/** A 64-bit key as two unsigned 32-bit words. */
export interface Key {
  readonly high: number;
  readonly low: number;
}

export function rootKey(seed: number): Key {
  return childKey({ high: 0x9e3779b9, low: 0x7f4a7c15 }, seed);
}

/** The key of a child: `childKey(childKey(run, step), task)`. Names and integers have separate spaces. */
export function childKey(parent: Key, part: number | string): Key {
  const words =
    typeof part === "number" ? [0, part >>> 0, Math.floor(part / 2 ** 32) >>> 0] : stringWords(part);
  return mixed(parent, words);
}

/** The key of a longer name, from that of its beginning: `extendedName(childKey(parent, "a"), "b")` is `childKey(parent, "ab")`. */
export function extendedName(key: Key, more: string): Key {
  return mixed(key, Buffer.from(more, "utf8"));
}

function mixed(parent: Key, words: Iterable<number>): Key {
  checkKey(parent);
  let { high, low } = parent;
  for (const word of words) {
    high = mix32(high ^ Math.imul(word, 0x85ebca6b) ^ low);
    low = mix32(low + Math.imul(word ^ high, 0xc2b2ae35) + 0x27d4eb2f);
  }
  return { high: high >>> 0, low: low >>> 0 };
}

export function keyAt(root: Key, ...path: readonly (number | string)[]): Key {
  return path.reduce(childKey, root);
}

/** The key as an unsigned 53-bit integer, for an engine's `seed` (exact in a Number). */
export function seedOf(key: Key): number {
  return (key.high & 0x1fffff) * 2 ** 32 + key.low;
}

/** The key's generator, always in its initial state. */
export function generatorOf(key: Key): Generator {
  checkKey(key);
  return xoroshiro128plusFromState([
    mix32(key.high),
    mix32(key.low),
    mix32(key.high + 1),
    mix32(key.low + 2) | 1,
  ]);
}

/** Anything else, such as a seed, would be the same key whatever it is. */
function checkKey(key: Partial<Key> | null | undefined): void {
  if (typeof key?.high !== "number" || typeof key.low !== "number")
    throw new TroupeError("bad_arguments", "expected a key (rootKey).");
}

/** A uniform integer in [0, bound). Mutates the generator. */
export function drawInt(generator: Generator, bound: number): number {
  if (!Number.isSafeInteger(bound) || bound < 1)
    throw new TroupeError("bad_arguments", `bound: expected an integer of at least 1, not ${bound}.`);
  return uniformInt(generator, 0, bound - 1);
}

/** A uniform number in [0, 1). Mutates the generator. */
export function drawFloat(generator: Generator): number {
  return uniformFloat64(generator);
}

/** The items in random order (Fisher–Yates); the argument is not changed. */
export function shuffled<T>(generator: Generator, items: readonly T[]): T[] {
  const result = [...items];
  for (let last = result.length - 1; last > 0; last--) {
    const other = drawInt(generator, last + 1);
    [result[last], result[other]] = [result[other] as T, result[last] as T];
  }
  return result;
}

/**
 * The 32-bit finaliser of MurmurHash3 (Appleby): every input bit changes every output bit with probability one half.
 * Signed.
 */
export function mix32(word: number): number {
  let hash = word | 0;
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return hash ^ (hash >>> 16);
}

/** The first word marks a string, so that the name "1" and the number 1 give different keys. */
function stringWords(text: string): number[] {
  return [1, ...Buffer.from(text, "utf8")];
}
