/** `troupe recipes`: the recipes that come with Troupe, and the JSON Schema of any recipe. */
import { readFileSync } from "node:fs";
import { Command } from "commander";
import { parse } from "yaml";
import { recipeShape } from "../recipes/resolve.ts";
import { shippedRecipes } from "../recipes/shipped.ts";
import { showPath } from "../recipes/origin.ts";
import { showShare } from "./format.ts";
import { printJson, printLines } from "./print.ts";
import { tableLines } from "./table.ts";

interface Listed {
  readonly name: string;
  readonly file: string;
  readonly description: string;
  readonly minutes: number | null;
  readonly success: number | null;
}

export function recipesCommand(): Command {
  return new Command("recipes")
    .description("list the recipes that come with Troupe")
    .option("--schema", "print the JSON Schema of recipes, for an editor's completion")
    .option("--json", "print one JSON document")
    .action((options: { schema?: boolean; json?: boolean }) => {
      if (options.schema) return printJson(recipeShape());
      const recipes = Object.entries(shippedRecipes()).map(([name, file]) => describe(name, file));
      return options.json ? printJson(recipes) : printLines(table(recipes));
    });
}

/** Read as plain YAML: a listing must not fail because one recipe is wrong. */
function describe(name: string, file: string): Listed {
  const recipe = parse(readFileSync(file, "utf8")) as {
    description?: string;
    expected?: { minutes?: number; success?: number };
  };
  const { minutes = null, success = null } = recipe.expected ?? {};
  return { name, file: showPath(file), description: recipe.description ?? "", minutes, success };
}

function table(recipes: readonly Listed[]): string[] {
  const rows = recipes.map(({ name, description, minutes, success }) => [
    name,
    minutes === null ? "" : String(minutes),
    success === null ? "" : showShare(success),
    description,
  ]);
  const columns = [
    { title: "recipe" },
    { title: "minutes", align: "right" as const },
    { title: "success", align: "right" as const },
    { title: "what it trains" },
  ];
  return [...tableLines(columns, rows), "", "minutes on two cores; success on held-out tasks after training"];
}
