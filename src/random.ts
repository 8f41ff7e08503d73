/**
 * Randomness is a key derived from its path (run, step, task, turn, role, sample), never a global generator:
 * the same path gives the same numbers whatever ran before or beside it.
 */
import { xoroshiro128plusFromState } from "pure-rand/generator/xoroshiro128plus";

/** A 64-bit key as two unsigned 32-bit words. */
export interface Key {
  readonly high: number;
  readonly low: number;
}

export function rootKey(seed: number): Key {
  return childKey({ high: 0x9e3779b9, low: 0x7f4a7c15 }, seed);
}

/** The key of a child: `childKey(childKey(run, step), task)`. Names and integers live in separate spaces. */
export function childKey(parent: Key, part: number | string): Key {
  const words =
    typeof part === "number" ? [0, part >>> 0, Math.floor(part / 2 ** 32) >>> 0] : stringWords(part);
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

/** The key as one unsigned 53-bit integer, for an engine's `seed` (a Number holds it exactly). */
export function seedOf(key: Key): number {
  return (key.high & 0x1fffff) * 2 ** 32 + key.low;
}
