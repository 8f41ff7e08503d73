/**
 * A YAML document as a tree that records where every key and value was written. Layers (an extended file, the file, the
 * overrides) are merged as trees, so that the merged recipe still has the origin of each value.
 */
import { relative } from "node:path";

export type Scalar = null | boolean | number | string;

export interface ScalarTree {
  readonly kind: "scalar";
  readonly origin: Origin;
  readonly value: Scalar;
  /** A null over a lower layer's value. */
  readonly takesBack?: true;
}

export interface SequenceTree {
  readonly kind: "sequence";
  readonly origin: Origin;
  readonly items: readonly Tree[];
}

export interface MappingTree {
  readonly kind: "mapping";
  readonly origin: Origin;
  readonly entries: ReadonlyMap<string, Entry>;
}

export interface Entry {
  readonly keyOrigin: Origin;
  readonly value: Tree;
}

export type Tree = ScalarTree | SequenceTree | MappingTree;
export type Path = readonly (string | number)[];

/** Mappings are merged key by key; any other value replaces the lower one. */
export function mergeTrees(base: Tree, over: Tree): Tree {
  if (over.kind === "scalar" && over.value === null) return takeBack(base, over);
  if (base.kind !== "mapping" || over.kind !== "mapping") return over;
  const entries = new Map(base.entries);
  for (const [key, entry] of over.entries) {
    const below = entries.get(key);
    const value = below === undefined ? entry.value : mergeTrees(below.value, entry.value);
    entries.set(key, { keyOrigin: entry.keyOrigin, value });
  }
  return { ...base, entries };
}

function takeBack(base: Tree, over: ScalarTree): ScalarTree {
  const nothing = base.kind === "scalar" && base.value === null && base.takesBack !== true;
  return nothing ? over : { ...over, takesBack: true };
}

/** `null` removes a key, as if it had never been set. */
export function plainOf(tree: Tree): unknown {
  if (tree.kind === "scalar") return tree.value;
  if (tree.kind === "sequence") return tree.items.map(plainOf);
  const given = [...tree.entries].filter(([, entry]) => !isNull(entry.value));
  // fromEntries defines own properties, so that a key called __proto__ is an ordinary, unknown key.
  return Object.fromEntries(given.map(([key, entry]) => [key, plainOf(entry.value)]));
}

function isNull(tree: Tree): boolean {
  return tree.kind === "scalar" && tree.value === null;
}

export function treeAt(tree: Tree, path: Path): Tree | undefined {
  let found: Tree | undefined = tree;
  for (const part of path) found = found === undefined ? undefined : childAt(found, part);
  return found;
}

function childAt(tree: Tree, part: string | number): Tree | undefined {
  if (tree.kind === "mapping") return tree.entries.get(String(part))?.value;
  return tree.kind === "sequence" ? tree.items[Number(part)] : undefined;
}

/** Where the value at the path was written; for an absent value, the nearest enclosing mapping. */
export function originAt(tree: Tree, path: Path): Origin {
  for (let length = path.length; length > 0; length--) {
    const found = treeAt(tree, path.slice(0, length));
    if (found !== undefined) return found.origin;
  }
  return tree.origin;
}

/** Where the last key of the path was written. */
export function keyOriginAt(tree: Tree, path: Path): Origin {
  const parent = treeAt(tree, path.slice(0, -1));
  const entry = parent?.kind === "mapping" ? parent.entries.get(String(path.at(-1))) : undefined;
  return entry?.keyOrigin ?? originAt(tree, path);
}

/** `team.phases.0.1` */
export function showKey(path: Path): string {
  return path.join(".");
}

export type Origin =
  | {
      readonly kind: "file";
      readonly file: string;
      readonly line: number;
      readonly column: number;
      /** Number of `extends` between the recipe and this file. Absent: an override. */
      readonly extended?: number;
    }
  | { readonly kind: "override"; readonly text: string };

/** `recipes/plan-path.yaml:12:3`, or ``override `train.steps=0` ``. */
export function showOrigin(origin: Origin): string {
  if (origin.kind === "override") return `override \`${shorten(origin.text, 80)}\``;
  return `${showPath(origin.file)}:${origin.line}:${origin.column}`;
}

/** The path relative to the working directory, unless that would leave it. */
export function showPath(file: string): string {
  const fromHere = relative(process.cwd(), file);
  return fromHere === "" || fromHere.startsWith("..") ? file : fromHere;
}

/** One line of at most `length` characters. */
export function shorten(text: string, length: number): string {
  const line = text.replaceAll(/\s+/g, " ");
  return line.length <= length ? line : `${line.slice(0, length - 1)}…`;
}
