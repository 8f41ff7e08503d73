import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { manualFile, refreshed } from "./manual.ts";
import { resolveRecipe } from "./resolve.ts";
import { shippedRecipes } from "./shipped.ts";

/** The formatter pads the columns of tables. */
function unpadded(page: string): string {
  return page
    .replaceAll(/ {2,}/g, " ")
    .replaceAll(/-{3,}/g, "---")
    .replaceAll("| --- ", "|---")
    .replaceAll("--- |", "---|");
}

describe("docs/recipes.md", () => {
  const page = readFileSync(manualFile, "utf8");

  it("is current; `node src/recipes/manual.ts` updates it", () => {
    expect(unpadded(page)).toBe(unpadded(refreshed(page)));
  });

  it("describes every key in a few words", () => {
    const rows = page.split("\n").filter((line) => line.startsWith("| `"));
    expect(rows.length).toBeGreaterThan(60);
    for (const row of rows) expect(row).toMatch(/[^|\s] *\|$/);
  });
});

describe("the included recipes", () => {
  // These name data sets and models that are not here: tests/code-recipes.test.ts, tests/data-science-recipes.test.ts, tests/game-recipes.test.ts, tests/questions-recipe.test.ts, tests/score-math.test.ts.
  const elsewhere = /^(code|math|data-science|at-grpo-games|questions)\//;
  const shipped = Object.entries(shippedRecipes()).filter(([name]) => !elsewhere.test(name));
  it.each(shipped)("%s is valid", async (name, file) => {
    const { recipe } = await resolveRecipe(file);
    expect(recipe.name).toBe(name.replace("/", "-"));
    expect(recipe.description).not.toBe("");
    expect(file).toBe(join(import.meta.dirname, "..", "..", "recipes", `${name}.yaml`));
  });
});
