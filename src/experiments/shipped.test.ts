import { describe, expect, it } from "vitest";
import { resolveRecipe } from "../recipes/resolve.ts";
import type { Recipe } from "../recipes/schema.ts";
import { shippedRecipes } from "../recipes/shipped.ts";
import type { TrainingCell } from "./grid.ts";
import { expand } from "./grid.ts";
import { loadExperiment } from "./load.ts";
import { shippedExperiments } from "./shipped.ts";

/** What reinforcement computes: without texts, its start, and the teams evaluated before it. */
function reinforcement({
  environment,
  team,
  policies,
  algorithm,
  train,
  evaluation,
  engine,
}: Recipe): object {
  const { compare: _, ...measured } = evaluation;
  return { environment, team, policies, algorithm, train, measured, engine };
}

/** Without those whose models and data sets are not included (`requires`); tests/included-recipes.slow.test.ts has its own. */
const experiments = Object.entries(shippedExperiments()).filter(
  ([, file]) => loadExperiment(file).definition.requires.length === 0,
);
const grids = await Promise.all(
  experiments.map(async ([name, file]) => ({ name, ...(await expand(loadExperiment(file), [1])) })),
);

/** Trained rows, of those that compute the same the first: `EXPERIMENT/COLUMN-ROW`, or `EXPERIMENT/ROW` with one column. */
const rows = grids.flatMap(({ name, cells, places }) => {
  const shown = new Set(places.map(({ row }) => row));
  const isAlone = new Set(places.map(({ column }) => column)).size === 1;
  const trained = cells.filter((cell) => cell.kind === "train" && shown.has(cell.row)) as TrainingCell[];
  return trained.map((cell) => {
    return { name: `${name}/${isAlone ? cell.row : `${cell.column}-${cell.row}`}`, cell };
  });
});

/** For `at-grpo-table`, by the name of the column's recipe: the rows that are read from a warm start's own table. */
const untrained = Map.groupBy(
  grids
    .filter(({ name }) => name === "at-grpo-table")
    .flatMap(({ places }) => places.flatMap(({ cell }) => (cell.kind === "evaluate" ? [cell] : []))),
  ({ column }) => `at-grpo-table/${column}-untrained`,
);

describe("a row of an included experiment as a recipe", () => {
  it.each(rows)("$name trains like the row, and from its warm start", async ({ name, cell }) => {
    const { recipe } = await resolveRecipe(shippedRecipes()[name] ?? name);
    expect(reinforcement(recipe)).toEqual(reinforcement(cell.recipe));
    const before = cell.from?.recipe.policies ?? {};
    const parted = Object.keys(recipe.policies).length > Object.keys(before).length;
    expect(recipe.warmStart).toEqual({
      ...cell.from?.recipe.warmStart,
      teach: parted ? "bases" : "policies",
    });
    for (const [role, policy] of Object.entries(recipe.policies))
      expect(policy).toEqual(before[role] ?? before["shared"]);
  });

  it.each([...untrained])("%s is the warm start that untrained rows are read from", async (name, cells) => {
    const { recipe } = await resolveRecipe(shippedRecipes()[name] ?? name);
    expect(cells.map(({ row }) => row)).toEqual(["single-agent", "team"]);
    for (const { run, team } of cells) {
      const { name: ours, description, expected, seed } = recipe;
      expect(recipe).toEqual({ ...run.recipe, name: ours, description, expected, seed });
      expect(["team", ...Object.keys(recipe.evaluation.compare)]).toContain(team);
    }
  });

  it("is everything in the experiments' folders", () => {
    const folders = experiments.map(([name]) => `${name}/`);
    const there = Object.keys(shippedRecipes()).filter((name) =>
      folders.some((each) => name.startsWith(each)),
    );
    const known = [...rows.map(({ name }) => name), ...untrained.keys()];
    expect(there.toSorted()).toEqual(known.toSorted());
  });
});
