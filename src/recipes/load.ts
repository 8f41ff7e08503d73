/** Merges a recipe's file and the files it extends into one tree. */
import { dirname, extname, resolve } from "node:path";
import { TroupeError } from "../errors.ts";
import { isPresentSync } from "../present.ts";
import { mergeLayers } from "./layers.ts";
import { RecipeError } from "./mistakes.ts";
import { findIncluded } from "./shipped.ts";
import { shorten, showPath, type Origin, type MappingTree, type Tree } from "./tree.ts";
import { readText, parseYaml } from "./yaml.ts";

/**
 * Reads a recipe with what it extends: `extends: other.yaml`, relative to the file, or the name of an included recipe.
 */
export function loadTree(file: string): MappingTree {
  return loadLayer(resolve(file), [], { kind: "file", file, line: 1, column: 1 });
}

const mostLayers = 64;

function loadLayer(file: string, below: readonly string[], asked: Origin): MappingTree {
  if (below.includes(file)) {
    const circle = [...below.slice(below.indexOf(file)), file].map(showPath).join(" → ");
    throw new RecipeError([{ origin: asked, key: "extends", problem: `circular \`extends\`: ${circle}` }]);
  }
  if (below.length > mostLayers) {
    const problem = `more than ${mostLayers} recipes extend each other`;
    throw new RecipeError([{ origin: asked, key: "extends", problem }]);
  }
  const origin: Origin = { kind: "file", file, line: 1, column: 1, extended: below.length };
  const tree = parseYaml(textOf(file, asked), (line, column) => ({ ...origin, line, column }));
  if (tree.kind !== "mapping") {
    const problem = `a recipe is a mapping of keys to values, found ${nameOfKind(tree)}`;
    throw new RecipeError([{ origin: tree.origin, key: "", problem }]);
  }
  return withExtended(tree, file, [...below, file]);
}

function withExtended(tree: MappingTree, file: string, below: readonly string[]): MappingTree {
  const entry = tree.entries.get("extends");
  if (entry === undefined) return tree;
  const { value } = entry;
  if (value.kind !== "scalar" || typeof value.value !== "string") {
    const problem = `expected the file of another recipe, found ${nameOfKind(value)}`;
    throw new RecipeError([{ origin: value.origin, key: "extends", problem }]);
  }
  const own = new Map(tree.entries);
  own.delete("extends");
  const base = loadLayer(extendedFile(value.value, dirname(file), value.origin), below, value.origin);
  const merged = mergeLayers(withoutMeasurements(base), { ...tree, entries: own }) as MappingTree;
  return { ...merged, origin: tree.origin };
}

/** One recipe's measured cost and result do not apply to another. */
export function withoutMeasurements(base: MappingTree): MappingTree {
  const entries = new Map(base.entries);
  entries.delete("expected");
  return { ...base, entries };
}

function extendedFile(given: string, folder: string, origin: Origin): string {
  const file = resolve(folder, given);
  if (isPresentSync(file) || extname(given) !== "" || given.startsWith(".")) return file;
  try {
    return findIncluded(given);
  } catch (error) {
    if (!(error instanceof TroupeError)) throw error;
    throw new RecipeError([{ origin, key: "extends", problem: error.message }]);
  }
}

function textOf(file: string, asked: Origin): string {
  try {
    return readText(file);
  } catch (cause) {
    const problem = `cannot read ${showPath(file)}: ${(cause as Error).message}`;
    throw new RecipeError([{ origin: asked, key: "", problem }]);
  }
}

function nameOfKind(tree: Tree): string {
  if (tree.kind === "mapping") return "a mapping";
  if (tree.kind === "sequence") return "a list";
  return tree.value === null ? "nothing" : `\`${shorten(String(tree.value), 60)}\``;
}
