/** MAGRPO's own configuration files: read as the published keys that they contain, on top of the included recipe. */
import { basename } from "node:path";
import { withoutMeasurements, loadTree } from "../load.ts";
import type { Origin } from "../origin.ts";
import { applyValue } from "../overrides.ts";
import { shippedRecipes } from "../shipped.ts";
import type { MappingTree, Tree } from "../tree.ts";
import { plainOf } from "../tree.ts";
import type { PythonValue } from "./python-literal.ts";
import { valueAt } from "./setting.ts";
import { isPublished, mistake, type PublishedValue, valuesIn } from "./translate.ts";
import { command } from "../../command-line.ts";

export interface Configuration {
  /** The included recipe with its algorithm, data set and number of turns, under the file's name. */
  readonly base: MappingTree;
  readonly values: readonly PublishedValue[];
}

/** Null: the file is a recipe. @throws RecipeError for keys that are not published, and other data sets */
export function configurationIn(tree: MappingTree): Configuration | null {
  const section = ["magrpo", "grpo"].find((head) => tree.entries.has(head));
  if (section === undefined) return null;
  const other = [...tree.entries].find(([head]) => !isPublished([head]));
  if (other === undefined) return { base: named(baseOf(tree, section), tree.origin), values: leavesOf(tree) };
  const [head, { keyOrigin }] = other;
  const problem = `unknown key in a configuration of MAGRPO, which this file is because of its key ${section}`;
  const fix = `remove one of the two; published keys change a recipe as overrides, such as ${section}.num_turns=2`;
  throw mistake(keyOrigin, head, problem, fix);
}

function leavesOf({ entries }: MappingTree): PublishedValue[] {
  return [...entries].flatMap(([head, { keyOrigin, value }]) => inside([head], keyOrigin, value));
}

/** With the line of each key. */
function inside(path: readonly string[], origin: Origin, value: Tree): readonly PublishedValue[] {
  const flat = valuesIn(origin, path, plainOf(value) as PythonValue);
  const isWhole = flat.length === 1 && flat[0]?.key === path.join(".");
  if (isWhole || value.kind !== "mapping") return flat;
  return [...value.entries].flatMap(([key, entry]) => inside([...path, key], entry.keyOrigin, entry.value));
}

function baseOf(tree: MappingTree, section: string): MappingTree {
  const plain = plainOf(tree) as Record<string, unknown>;
  const turns = section === "magrpo" && Number(valueAt(plain, "magrpo.num_turns") ?? 1) > 1 ? "mt-" : "";
  const dataset = valueAt(plain, "dataset.name") ?? "humaneval";
  const name = `code/${turns}${section}-${typeof dataset === "string" ? setOf(dataset) : "?"}`;
  const file = shippedRecipes()[name];
  if (file !== undefined) return withoutMeasurements(loadTree(file));
  const origin = tree.entries.get("dataset")?.keyOrigin ?? tree.origin;
  const fix = `train one of those that \`${command("recipes", "code")}\` lists, with published keys as overrides`;
  throw mistake(
    origin,
    "dataset.name",
    `there is no included recipe for ${section} on ${JSON.stringify(dataset)}`,
    fix,
  );
}

function setOf(dataset: string): string {
  const name = dataset.toLowerCase();
  if (name.includes("coop")) return "che";
  return name.includes("humaneval") ? "he" : name.includes("mbpp") ? "mbpp" : name;
}

function named(base: MappingTree, origin: Origin): MappingTree {
  if (origin.kind !== "file") return base;
  const name = basename(origin.file).replace(/\.ya?ml$/, "");
  return applyValue(base, ["name"], { kind: "scalar", origin, value: name }, origin) as MappingTree;
}
