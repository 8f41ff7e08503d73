/** The table of included recipes in docs/recipes.md. A test compares it; `node src/cli/recipes/page.ts` updates it. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { showShare } from "../../format.ts";
import { shippedRecipes } from "../../recipes/shipped.ts";
import { describe } from "./listed.ts";

export const recipesPage = join(import.meta.dirname, "..", "..", "..", "docs", "recipes.md");

const begin = "<!-- made by src/cli/recipes/page.ts -->";
const end = "<!-- end -->";

/** The page with an updated table. */
export function refreshed(page: string): string {
  const [before] = page.split(begin);
  const [, after] = page.split(end);
  if (before === undefined || after === undefined)
    throw new Error(`docs/recipes.md has no ${begin} … ${end}`);
  return `${before}${begin}\n\n${recipeTable()}\n\n${end}${after}`;
}

function recipeTable(): string {
  const rows = Object.entries(shippedRecipes()).map(([name, file]) => {
    const { description, minutes, success } = describe(name, file);
    const facts = [
      ...(success === null ? [] : [showShare(success)]),
      ...(minutes === null ? [] : [`${minutes} min`]),
    ];
    return `| \`${name}\` | ${description.replaceAll("|", "\\|")} | ${facts.join(", ")} |`;
  });
  return ["| recipe | what | expected |", "|---|---|---|", ...rows].join("\n");
}

if (import.meta.main) writeFileSync(recipesPage, refreshed(readFileSync(recipesPage, "utf8")));
