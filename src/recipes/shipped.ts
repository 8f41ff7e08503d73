/** The included recipes, and finding one by file or name. */
import { readdirSync, statSync } from "node:fs";
import { basename, join, sep } from "node:path";
import { isPresentSync } from "../present.ts";
import { TroupeError } from "../errors.ts";
import { didYouMean } from "../nearest.ts";
import { command, runsFolder } from "../command-line.ts";

/** The package's folder: two levels up, from `src/` and from `dist/`. */
const packageRoot = join(import.meta.dirname, "..", "..");

export const shippedFolder = join(packageRoot, "recipes");

/**
 * Files of the included recipes by name: the path without its extension, such as `plan-path`, or `scaling/k-2` in a
 * folder.
 */
export function shippedRecipes(): Readonly<Record<string, string>> {
  const paths = isPresentSync(shippedFolder)
    ? readdirSync(shippedFolder, { recursive: true }).map(String)
    : [];
  const files = paths.filter((path) => path.endsWith(".yaml"));
  const named = files.map((path): [string, string] => [nameOf(path), join(shippedFolder, path)]);
  return Object.fromEntries(named.toSorted(([left], [right]) => byNumbers(left, right)));
}

const byNumbers = new Intl.Collator("en", { numeric: true }).compare;

function nameOf(path: string): string {
  return path.replace(/\.ya?ml$/, "").replaceAll(sep, "/");
}

/**
 * The file of a recipe given by path or by the name of an included one, without its folder if the rest is unique.
 * @throws TroupeError `bad_arguments` if there is none, or several
 */
export function findRecipe(given: string): string {
  const isThere = isPresentSync(given);
  return isThere && !statSync(given).isDirectory() ? given : findIncluded(given, isThere);
}

/**
 * The file of an included recipe.
 * @param isFolder there is a folder of this name
 * @throws TroupeError `bad_arguments` if there is none, or several
 */
export function findIncluded(given: string, isFolder = false): string {
  const shipped = shippedRecipes();
  const name = nameOf(given).replace(/^recipes\//, "");
  const found = Object.hasOwn(shipped, name) ? shipped[name] : undefined;
  if (found !== undefined && (given === name || given === join("recipes", `${name}.yaml`))) return found;
  const [only, ...others] = isFolder ? [] : withoutFolder(given, shipped);
  if (only !== undefined && others.length === 0) return shipped[only] ?? "";
  const help = hint(given, name, Object.keys(shipped));
  throw new TroupeError(
    "bad_arguments",
    isFolder ? `${given} is a folder, not a recipe; ${help}` : missing(given, help),
  );
}

/** What is meant by a name that is no recipe: an address, a file, a model of the hub, or a recipe. */
function missing(given: string, help: string): string {
  if (/^[a-z][a-z+.-]*:\/\//i.test(given))
    return `${given} is an address, not a recipe; download the file, and give its path`;
  if (given.trim() === "") return `a recipe needs a name; ${help}`;
  const name = given.replace(/\.ya?ml$/i, "");
  const file = [`${name}.yaml`, `${name}.yml`].find((each) => isPresentSync(each));
  if (file !== undefined) return `there is no recipe ${given}; did you mean the file \`${file}\`?`;
  if (/\.ya?ml$/i.test(given) || /^[.~]|^\/|\\/.test(given))
    return `there is no file ${given}, relative to ${process.cwd()}; ${help}`;
  if (isPresentSync(join(runsFolder, given, "recipe.yaml")))
    return `${given} is a run, not a recipe; to play with its team: \`${command("play", "--run", given)}\``;
  const [owner = "", model] = given.split("/");
  const isModel = model !== undefined && /[A-Z0-9]/.test(given) && !isPresentSync(join(shippedFolder, owner));
  if (isModel && /^\w[\w.-]*\/\w[\w.-]*$/.test(given))
    return `there is no recipe ${given}; a model is named in a recipe, \`model: { path: DIRECTORY }\`, once it is fetched: \`hf download ${given} --local-dir models/${model}\``;
  return `there is no recipe ${given}; ${help}`;
}

/** Names of recipes in folders whose last part is the given one. */
function withoutFolder(given: string, shipped: Readonly<Record<string, string>>): readonly string[] {
  return Object.keys(shipped).filter((name) => name.includes("/") && basename(name) === given);
}

function hint(given: string, name: string, names: readonly string[]): string {
  if (given.includes("=")) return "give the recipe first, then its overrides";
  const inside = names.filter((each) => each.startsWith(`${name}/`));
  if (inside.length > 0) return `its recipes are ${inside.join(", ")}`;
  const several = names.filter((each) => basename(each) === name);
  if (several.length > 1) return `there are ${several.join(", ")}`;
  const [only] = several;
  if (only !== undefined) return `did you mean \`${only}\`?`;
  const main = names.filter((each) => !each.includes("/"));
  const all = `included recipes: ${main.join(", ")}; \`${command("recipes")}\` lists more`;
  if (!/\w/.test(name)) return all;
  return (
    didYouMean(name, names) ??
    didYouMean(
      name,
      names.map((each) => basename(each)),
    ) ??
    all
  );
}
