import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { keySections } from "../../recipes/keys.ts";
import { resolveRecipe } from "../../recipes/resolve.ts";
import { shippedRecipes } from "../../recipes/shipped.ts";
import { keyLines } from "./recipes.ts";

describe("troupe recipes --keys", () => {
  it("describes every key in a few words", () => {
    const rows = keySections().flatMap((section) => section.rows);
    expect(rows.length).toBeGreaterThan(200);
    for (const { key, meaning } of rows)
      expect({ key, meaning }).toMatchObject({ meaning: expect.stringMatching(/\S/) as string });
  });

  it("shows value, default and meaning, within the terminal", () => {
    const lines = keyLines("plan-path", 60);
    expect(lines).toContain("size: integer 3 to 26; default 10");
    for (const line of lines) expect(line.length).toBeLessThanOrEqual(60);
    expect(() => keyLines("sudoko", 60)).toThrow("did you mean `sudoku`?");
  });
});

describe("the included recipes", () => {
  // These name data sets and models that are not here: tests/included-recipes.slow.test.ts, tests/tools.test.ts.
  const elsewhere = /^(cluster|code|math|data-science|at-grpo-games|questions)\//;
  const shipped = Object.entries(shippedRecipes()).filter(([name]) => !elsewhere.test(name));
  it.each(shipped)("%s is valid", async (name, file) => {
    const { recipe } = await resolveRecipe(file);
    expect(recipe.name).toBe(name.replace("/", "-"));
    expect(recipe.description).not.toBe("");
    expect(file).toBe(join(import.meta.dirname, "..", "..", "..", "recipes", `${name}.yaml`));
  });
});
