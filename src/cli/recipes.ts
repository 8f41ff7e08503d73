/** `troupe recipes`: the included recipes, one of them, and the JSON Schema of recipes. */
import { readFileSync } from "node:fs";
import { Command } from "commander";
import { recipeShape } from "../recipes/resolve.ts";
import { findRecipe, shippedRecipes } from "../recipes/shipped.ts";
import { printJson, printLines } from "./print.ts";
import { terminalWidth } from "./table.ts";
import { keyLines } from "./recipes/keys.ts";
import { folderLines, listLines } from "./recipes/list.ts";
import { describe } from "./recipes/listed.ts";
import { recipeLines } from "./recipes/one.ts";

interface RecipesArguments {
  readonly schema?: boolean;
  readonly keys?: boolean;
  readonly json?: boolean;
}

export function recipesCommand(): Command {
  return new Command("recipes")
    .description("list the included recipes, or show one")
    .argument("[name]", "a recipe to show, or a folder to list: algorithms, scaling, …")
    .option("--schema", "print the JSON Schema of recipes, for completion in an editor")
    .option(
      "--keys",
      "print every key of a recipe, or the options of NAME: an environment, algorithm, judge or tool",
    )
    .option("--json", "print one JSON document")
    .action((name: string | undefined, options: RecipesArguments) => {
      if (options.schema) return printJson(recipeShape());
      if (options.keys) return printLines(keyLines(name ?? "recipe", width()));
      return name === undefined ? list(options) : show(name.replace(/\/$/, ""), options);
    });
}

function list({ json }: RecipesArguments): void {
  const recipes = Object.entries(shippedRecipes()).map(([name, file]) => describe(name, file));
  if (json) printJson(recipes);
  else printLines(listLines(recipes, width()));
}

/** A folder's list, or one recipe. @throws TroupeError `bad_arguments` if it is neither */
function show(name: string, { json }: RecipesArguments): void {
  const inFolder = Object.entries(shippedRecipes()).filter(([each]) => each.startsWith(`${name}/`));
  if (inFolder.length === 0) return showOne(findRecipe(name), json === true);
  const recipes = inFolder.map(([each, file]) => describe(each, file));
  if (json) printJson(recipes);
  else printLines(folderLines(name, recipes, width()));
}

function showOne(file: string, json: boolean): void {
  const name = Object.entries(shippedRecipes()).find(([, each]) => each === file)?.[0] ?? file;
  const listed = describe(name, file);
  if (json) printJson(listed);
  else printLines(recipeLines(listed, readFileSync(file, "utf8"), width()));
}

function width(): number {
  return Math.min(terminalWidth(), 120);
}
