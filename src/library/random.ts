/** Random numbers for programs and modules of recipes (src/random.ts). Called often: plain checks, no schemas. */
import { TroupeError } from "../errors.ts";
import * as random from "../random.ts";
import type { Generator, Key } from "../random.ts";

export function rootKey(seed: number): Key {
  if (typeof seed !== "number") throw wrong("seed", "a number", seed);
  return random.rootKey(seed);
}

/** The key of a child: `childKey(childKey(run, step), task)`. Names and integers have separate spaces. */
export function childKey(parent: Key, part: number | string): Key {
  checkKey("parent", parent);
  checkPart("part", part);
  return random.childKey(parent, part);
}

export function keyAt(root: Key, ...path: readonly (number | string)[]): Key {
  checkKey("root", root);
  for (const [index, part] of path.entries()) checkPart(`path.${index}`, part);
  return random.keyAt(root, ...path);
}

/** The key's generator, always in its initial state. */
export function generatorOf(key: Key): Generator {
  checkKey("key", key);
  return random.generatorOf(key);
}

/** A uniform integer in [0, bound). Mutates the generator. */
export function drawInt(generator: Generator, bound: number): number {
  checkGenerator(generator);
  if (!Number.isSafeInteger(bound) || bound < 1) throw wrong("bound", "an integer of at least 1", bound);
  return random.drawInt(generator, bound);
}

/** A uniform number in [0, 1). Mutates the generator. */
export function drawFloat(generator: Generator): number {
  checkGenerator(generator);
  return random.drawFloat(generator);
}

/** The items in random order (Fisher–Yates); the argument is not changed. */
export function shuffled<T>(generator: Generator, items: readonly T[]): T[] {
  checkGenerator(generator);
  if (!Array.isArray(items)) throw wrong("items", "an array", items);
  return random.shuffled(generator, items);
}

function checkKey(name: string, key: Partial<Key> | null | undefined): void {
  if (typeof key?.high !== "number" || typeof key.low !== "number") throw wrong(name, "a key (rootKey)", key);
}

function checkPart(name: string, part: unknown): void {
  if (typeof part !== "number" && typeof part !== "string") throw wrong(name, "a name or a number", part);
}

function checkGenerator(generator: Partial<Generator> | null | undefined): void {
  if (typeof generator?.next !== "function") throw wrong("generator", "a generator (generatorOf)", generator);
}

function wrong(name: string, expected: string, found: unknown): TroupeError {
  const kind = found === null ? "null" : typeof found;
  const shown = kind === "number" ? String(found) : kind;
  return new TroupeError("bad_arguments", `${name}: expected ${expected}, not ${shown}.`);
}
