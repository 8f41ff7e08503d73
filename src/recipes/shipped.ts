/** The recipes that come with Troupe, and finding one by its file or its name. */
import { existsSync, readdirSync } from "node:fs";
import { basename, join } from "node:path";
import { TroupeError } from "../errors.ts";
import { didYouMean } from "../nearest.ts";

/** The package's own folder: this file is two below it, in `src/` and in `dist/` alike. */
const packageRoot = join(import.meta.dirname, "..", "..");

export const shippedFolder = join(packageRoot, "recipes");

/** Files of the recipes that come with Troupe, by name. */
export function shippedRecipes(): Readonly<Record<string, string>> {
  const names = existsSync(shippedFolder) ? readdirSync(shippedFolder) : [];
  const files = names.filter((name) => name.endsWith(".yaml")).toSorted();
  return Object.fromEntries(files.map((name) => [basename(name, ".yaml"), join(shippedFolder, name)]));
}

/**
 * The file of a recipe given as a path or as the name of one that comes with Troupe.
 * @throws TroupeError `bad_arguments` when there is neither
 */
export function findRecipe(given: string): string {
  if (existsSync(given)) return given;
  const shipped = shippedRecipes();
  const name = basename(given).replace(/\.ya?ml$/, "");
  const found = Object.hasOwn(shipped, name) ? shipped[name] : undefined;
  if (found !== undefined && (given === name || given === join("recipes", `${name}.yaml`))) return found;
  const names = Object.keys(shipped);
  const hint = given.includes("=")
    ? "the recipe comes first, then its overrides"
    : (didYouMean(name, names) ?? `recipes that come with Troupe: ${names.join(", ")}`);
  throw new TroupeError("bad_arguments", `there is no recipe ${given}; ${hint}`);
}
