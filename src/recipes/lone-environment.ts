/** An environment without a recipe: by its name or from a module, with its default options and changes to them. */
import type { Environment } from "../environments/environment.ts";
import { builtInCatalog } from "./built-in.ts";
import type { Catalog } from "./catalog.ts";
import { find, make } from "./choice.ts";
import { environmentKind } from "./kinds.ts";
import type { Mistake } from "./mistakes.ts";
import { RecipeError } from "./mistakes.ts";
import { applyOverrides } from "./overrides.ts";
import type { MappingTree } from "./tree.ts";
import { plainOf } from "./tree.ts";

/**
 * @param settings a module's path is seen from the working folder
 * @param overrides `environment.key=value`
 * @throws RecipeError with every mistake
 */
export async function loneEnvironment(
  settings: { readonly name: string } | { readonly module: string },
  overrides: readonly string[] = [],
  catalog: Catalog = builtInCatalog,
): Promise<Environment> {
  const own = Object.entries(settings).map(([key, value]) => `environment.${key}=${JSON.stringify(value)}`);
  const empty: MappingTree = { kind: "mapping", origin: { kind: "override", text: "" }, entries: new Map() };
  const tree = applyOverrides(empty, [...own, ...overrides]);
  const mistakes = strayKeys(tree);
  const found = await find(
    environmentKind(catalog),
    plainOf(tree) as Record<string, unknown>,
    tree,
    mistakes,
  );
  const made = found && (await make(found, tree, mistakes));
  if (made === undefined || mistakes.length > 0) throw new RecipeError(mistakes);
  return made.value;
}

function strayKeys({ entries }: MappingTree): Mistake[] {
  const stray = [...entries].filter(([key]) => key !== "environment");
  return stray.map(([key, { keyOrigin }]) => ({
    origin: keyOrigin,
    key,
    problem: "there is no recipe here to change",
    fix: "an environment takes `environment.key=value` only",
  }));
}
