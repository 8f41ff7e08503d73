import { describe, expect, it } from "vitest";
import { resolveRecipe } from "../recipes/resolve.ts";
import type { Recipe } from "../recipes/schema.ts";
import { shippedRecipes } from "../recipes/shipped.ts";
import type { TrainingCell } from "./grid.ts";
import { expand } from "./grid.ts";
import { loadExperiment } from "./load.ts";
import { shippedExperiments } from "./shipped.ts";

/** The trained rows of an experiment; of rows that compute the same, the first. */
function trainedRows(file: string): TrainingCell[] {
  const { cells, places } = expand(loadExperiment(file), [1]);
  const rows = new Set(places.map(({ row }) => row));
  return cells.filter((cell) => cell.kind === "train" && rows.has(cell.row)) as TrainingCell[];
}

/** `EXPERIMENT/COLUMN-ROW`, or `EXPERIMENT/ROW` where there is one column. */
function recipeOf(experiment: string, { column, row }: TrainingCell): string {
  const { columns } = loadExperiment(shippedExperiments()[experiment] ?? "").definition;
  return `${experiment}/${Object.keys(columns).length === 1 ? row : `${column}-${row}`}`;
}

/** What reinforcement computes: without texts, the way it begins, and the teams measured before it. */
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

const rows = Object.entries(shippedExperiments()).flatMap(([experiment, file]) =>
  trainedRows(file).map((cell) => ({ name: recipeOf(experiment, cell), cell })),
);

/** Of `at-grpo-table`, by the name of the column's recipe: the rows that are read from a warm start's own table. */
const untrained = Map.groupBy(
  expand(loadExperiment(shippedExperiments()["at-grpo-table"] ?? ""), [1]).places.flatMap(({ cell }) =>
    cell.kind === "evaluate" ? [cell] : [],
  ),
  ({ column }) => `at-grpo-table/${column}-untrained`,
);

describe("a row of a shipped experiment as a recipe", () => {
  it.each(rows)("$name trains as the row does", ({ name, cell }) => {
    const { recipe } = resolveRecipe(shippedRecipes()[name] ?? name);
    expect(reinforcement(recipe)).toEqual(reinforcement(cell.recipe));
  });

  it.each(rows)("$name has the warm start that the row begins with", ({ name, cell }) => {
    const { recipe } = resolveRecipe(shippedRecipes()[name] ?? name);
    const before = cell.from?.recipe.policies ?? {};
    const parted = Object.keys(recipe.policies).length > Object.keys(before).length;
    expect(recipe.warmStart).toEqual({
      ...cell.from?.recipe.warmStart,
      teach: parted ? "bases" : "policies",
    });
    for (const [role, policy] of Object.entries(recipe.policies))
      expect(policy).toEqual(before[role] ?? before["shared"]);
  });

  it.each([...untrained])("%s is the warm start that untrained rows are read from", (name, cells) => {
    const { recipe } = resolveRecipe(shippedRecipes()[name] ?? name);
    expect(cells.map(({ row }) => row)).toEqual(["single-agent", "team"]);
    for (const { run, team } of cells) {
      const { name: ours, description, expected, seed } = recipe;
      expect(recipe).toEqual({ ...run.recipe, name: ours, description, expected, seed });
      expect(["team", ...Object.keys(recipe.evaluation.compare)]).toContain(team);
    }
  });

  it("is all that the experiments' folders hold", () => {
    const folders = Object.keys(shippedExperiments()).map((name) => `${name}/`);
    const there = Object.keys(shippedRecipes()).filter((name) =>
      folders.some((each) => name.startsWith(each)),
    );
    const known = [...rows.map(({ name }) => name), ...untrained.keys()];
    expect(there.toSorted()).toEqual(known.toSorted());
  });
});
