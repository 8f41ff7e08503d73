/** The recipes that come with Troupe, and finding one by its file or its name. */
import { existsSync, readdirSync, statSync } from "node:fs";
import { basename, join, sep } from "node:path";
import { TroupeError } from "../errors.ts";
import { didYouMean } from "../nearest.ts";

/** The package's own folder: this file is two below it, in `src/` and in `dist/` alike. */
const packageRoot = join(import.meta.dirname, "..", "..");

export const shippedFolder = join(packageRoot, "recipes");

/**
 * Files of the recipes that come with Troupe, by name: their path without the ending, such as `plan-path`, or
 * `scaling/k-2` for those of a table, which have a folder.
 */
export function shippedRecipes(): Readonly<Record<string, string>> {
  const paths = existsSync(shippedFolder) ? readdirSync(shippedFolder, { recursive: true }).map(String) : [];
  const files = paths.filter((path) => path.endsWith(".yaml"));
  const named = files.map((path): [string, string] => [nameOf(path), join(shippedFolder, path)]);
  return Object.fromEntries(named.toSorted(([left], [right]) => byNumbers(left, right)));
}

const byNumbers = new Intl.Collator("en", { numeric: true }).compare;

function nameOf(path: string): string {
  return path.replace(/\.ya?ml$/, "").replaceAll(sep, "/");
}

/**
 * The file of a recipe given as a path or as the name of one that comes with Troupe.
 * @throws TroupeError `bad_arguments` when there is neither
 */
export function findRecipe(given: string): string {
  const place = statSync(given, { throwIfNoEntry: false });
  if (place?.isDirectory() === false) return given;
  const shipped = shippedRecipes();
  const name = nameOf(given).replace(/^recipes\//, "");
  const found = Object.hasOwn(shipped, name) ? shipped[name] : undefined;
  if (found !== undefined && (given === name || given === join("recipes", `${name}.yaml`))) return found;
  const problem = place === undefined ? `there is no recipe ${given}` : `${given} is a folder, not a recipe`;
  throw new TroupeError("bad_arguments", `${problem}; ${hint(given, name, Object.keys(shipped))}`);
}

function hint(given: string, name: string, names: readonly string[]): string {
  if (given.includes("=")) return "give the recipe first, then its overrides";
  const inside = names.filter((each) => each.startsWith(`${name}/`));
  if (inside.length > 0) return `its recipes are ${inside.join(", ")}`;
  const [only, another] = names.filter((each) => basename(each) === name);
  if (only !== undefined && another === undefined) return `did you mean \`${only}\`?`;
  const main = names.filter((each) => !each.includes("/"));
  const all = `included recipes: ${main.join(", ")}; \`troupe recipes\` lists more`;
  return didYouMean(name, names) ?? all;
}
