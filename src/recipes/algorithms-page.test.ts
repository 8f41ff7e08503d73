import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { algorithms } from "../credit/algorithms.ts";
import { resolveRecipe } from "./resolve.ts";
import { shippedRecipes } from "./shipped.ts";

const page = readFileSync(new URL("../../docs/algorithms.md", import.meta.url), "utf8");
const recipes = shippedRecipes();

describe("docs/algorithms.md", () => {
  const lines = (page.match(/^algorithm: .*$/gm) ?? []).map((line) => [line] as const);

  it("has a recipe line for every row", () => {
    const named = lines.map(([line]) => (parse(line) as { algorithm: { name: string } }).algorithm.name);
    expect(new Set(named)).toEqual(new Set(Object.keys(algorithms)));
  });

  it.each(lines)("%s works as an override of its row's recipe", async (line) => {
    const { algorithm } = parse(line) as { algorithm: { name: string } };
    const file = recipes[`algorithms/${algorithm.name}`] ?? "";
    const { recipe } = await resolveRecipe(file, [`algorithm=${JSON.stringify(algorithm)}`]);
    expect(recipe.algorithm).toMatchObject(algorithm);
  });
});

describe("the example of your own row", () => {
  it("is printed verbatim", () => {
    const example = new URL("../../examples/translation/median.ts", import.meta.url);
    const [code = ""] = /^import .*?^\);$/ms.exec(readFileSync(example, "utf8")) ?? [];
    expect(page).toContain(`\`\`\`ts\n${code}\n\`\`\``);
  });
});

describe("recipes/algorithms", () => {
  it.each(Object.keys(algorithms))("%s trains the row it is named after", async (name) => {
    const { recipe } = await resolveRecipe(recipes[`algorithms/${name}`] ?? "");
    expect(recipe.algorithm.name).toBe(name);
  });
});
