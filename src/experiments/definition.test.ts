import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { temporaryFolder } from "../models/test-model.ts";
import { TroupeError } from "../errors.ts";
import type { JsonSchema } from "../recipes/shape.ts";
import { jsonSchemaOf } from "../recipes/shape.ts";
import { definitionSchema } from "./definition.ts";
import type { Cell, EvaluationCell, TrainingCell } from "./grid.ts";
import { expand, needsOf } from "./grid.ts";
import type { Experiment } from "./load.ts";
import { loadExperiment } from "./load.ts";
import { shippedExperiments } from "./shipped.ts";

const fixtures = join(import.meta.dirname, "fixtures");
const small = join(fixtures, "small.yaml");

const folder = temporaryFolder();

function load(text: string): Experiment {
  const file = join(folder, "given.yaml");
  writeFileSync(file, text);
  return loadExperiment(file);
}

/** A file with one column and the given rows. */
function withRows(rows: string, more = ""): string {
  return `name: given\nseeds: [1]\ncolumns: { boards: { recipe: ${small} } }\n${more}rows:\n${rows}`;
}

async function rejection(work: () => unknown): Promise<string> {
  try {
    await work();
  } catch (error) {
    if (error instanceof TroupeError && error.code === "bad_recipe") return error.message;
    throw error;
  }
  throw new Error("nothing was rejected");
}

/** Every key of the format, at any depth. */
function keysIn(schema: JsonSchema): string[] {
  const below = typeof schema.additionalProperties === "object" ? [schema.additionalProperties] : [];
  const own = Object.entries(schema.properties ?? {});
  return [...own.flatMap(([key, inner]) => [key, ...keysIn(inner)]), ...below.flatMap(keysIn)];
}

describe("the keys of a file", () => {
  it("are all in the manual", () => {
    const page = readFileSync(join(fixtures, "../../../docs/reference/experiments.md"), "utf8");
    const missing = keysIn(jsonSchemaOf(definitionSchema)).filter(
      (key) => !new RegExp(String.raw`[\x60.]${key}[\x60.]`).test(page),
    );
    expect(missing).toEqual([]);
  });

  it.each([
    ["name: x\nsedes: [1]", "unknown key; did you mean `seeds`? Keys of an experiment: name, title"],
    [withRows("  a: { train: { form: b } }"), "rows.a.train.form: unknown key; did you mean `from`?"],
    [
      withRows("  a: { train: {} }", "measures: { m: { passAt: 1, value: tokens } }\n"),
      "measures.m: expected one of",
    ],
    [withRows("  a: { train: {} }", "requires: [{ fetch: x }]\n"), "expected either `path` or `dataset`"],
    [
      withRows(
        "  a: { train: {} }",
        "measures: { pass: { passAt: 1 } }\npublished: { source: x, measures: { boards: { a: { past: 1 } } } }\n",
      ),
      "published.measures.boards.a.past: there is no measure `past`; did you mean `pass`?",
    ],
    [withRows("  a: { train: { from: b } }"), "given.yaml:5:23: rows.a.train.from: there is no training `b`"],
    [withRows("  a: { train: { changesIn: { x: {} } } }"), "train.changesIn.x: there is no column `x`"],
    [withRows("  a: { title: A }"), "rows.a: expected either `train` or `evaluate`"],
    [withRows("  a: { evaluate: { run: a } }"), "rows.a.evaluate.run: there is no training `a`; known: none"],
    [withRows("  a: { train: { from: b } }\n  b: { train: { from: a } }"), "starts from itself: a → b → a"],
    [withRows("  a: { train: {} }", "shared: { a: {} }\n"), "rows.a: a shared training has the same name"],
    [withRows("  a: { train: {} }", "baseline: b\n"), "baseline: there is no row `b`"],
    [withRows("  a: { train: { policies: none } }"), "expected one of shared, per-role"],
    ["name: x\nseeds: []\ncolumns: {}\nrows: {}", "seeds: expected a list of at least 1"],
    [withRows("  a: { train: {} }").replace("[1]", "[1, 2, 1]"), "given.yaml:2:15: seeds.2: the seed 1"],
    ["just text", "an experiment is a mapping of keys to values"],
    ["a: [", "not valid YAML"],
    ["name: x\ntitle: a: b", "given.yaml:2:8: not valid YAML: Nested mappings"],
    ["extends: plan-path\nname: x", "this is a recipe, not an experiment; `troupe train "],
  ])("%j is rejected", async (text, expected) => {
    expect(await rejection(() => load(text))).toContain(expected);
  });

  it.each([
    ["  a: { train: { changes: { train: { stepz: 1 } } } }", "a on boards: ", "train.stepz: unknown key"],
    ["  a: { train: { team: singel-agent } }", "rows.a.train.team: ", "did you mean `single-agent`?"],
    [
      "  a: { train: {} }\n  b: { train: { from: a, changes: { policies: { shared: { model: { preset: small } } } } } }",
      "rows.b.train.from: the policy shared is the preset small",
    ],
    [
      "  a: { train: {} }\n  b: { evaluate: { run: a, team: x } }",
      "rows.b.evaluate.team: ",
      "teams of a: team, single-agent",
    ],
    [
      "  a: { train: {} }\n  b: { evaluate: { run: a, policies: { x: a } } }",
      "policies.x: there is no role `x`",
      "scout",
    ],
    [
      "  a: { train: {} }\n  b: { evaluate: { run: a, policies: { scout: a/x } } }",
      "there is no role `x`",
      "planner",
    ],
  ])("%j is rejected when the grid is expanded", async (rows, ...expected) => {
    const message = await rejection(() => expand(load(withRows(rows)), [1]));
    for (const part of expected) expect(message).toContain(part);
  });

  it("names a recipe that does not exist", async () => {
    const text = "name: x\nseeds: [1]\ncolumns: { a: { recipe: nothing } }\nrows: { b: { train: {} } }";
    expect(await rejection(() => expand(load(text), [1]))).toContain(
      "columns.a.recipe: there is no recipe nothing",
    );
  });

  it.each(Object.entries(shippedExperiments()))("the included %s can be expanded", async (name, file) => {
    const { definition, ...experiment } = loadExperiment(file);
    expect(definition.name).toBe(name);
    // Without models and data sets that are not included, only its file is checked.
    const seeds = definition.requires.length === 0 ? definition.seeds.slice(0, 1) : [];
    const { places } = await expand({ ...experiment, definition }, seeds);
    const { rows, columns } = definition;
    expect(places).toHaveLength(seeds.length * Object.keys(rows).length * Object.keys(columns).length);
  });
});

describe("the grid", async () => {
  const miniature = loadExperiment(join(fixtures, "miniature.yaml"));
  const grid = await expand(miniature, [1, 2]);
  const at = (row: string, seed = 1) =>
    grid.places.find((place) => place.row === row && place.seed === seed)?.cell as Cell;

  it("has a result for each row, column and seed, and one warm start per seed", () => {
    expect(grid.places).toHaveLength(8);
    expect(grid.cells.filter(({ row }) => row === "warm-start").map(({ seed }) => seed)).toEqual([1, 2]);
    expect(grid.cells).toHaveLength(10);
  });

  it("lists every cell after those it needs", () => {
    for (const [index, cell] of grid.cells.entries())
      for (const need of needsOf(cell)) expect(grid.cells.indexOf(need)).toBeLessThan(index);
    expect(needsOf(at("swapped"))).toEqual([at("team-per-role"), at("team-per-role"), at("team-per-role")]);
    expect(needsOf(at("single-agent")).map(({ row }) => row)).toEqual(["warm-start"]);
  });

  it("makes each training's recipe: team, policies, algorithm, seed; the warm start only once", () => {
    const single = (at("single-agent-grpo", 2) as TrainingCell).recipe;
    expect(Object.keys(single.team.roles)).toEqual(["planner"]);
    expect(single).toMatchObject({
      name: "boards-single-agent-grpo-seed-2",
      seed: 2,
      algorithm: { name: "grpo" },
      evaluation: { compare: {} },
    });
    expect(single.warmStart).toBeUndefined();
    const perRole = (at("team-per-role") as TrainingCell).recipe;
    const used = Object.entries(perRole.team.roles).map(([role, { policy }]) => `${role} ${policy}`);
    expect(used).toEqual(["scout scout", "planner planner"]);
    expect(Object.keys(perRole.policies)).toEqual(["scout", "planner"]);
    const { from } = at("team-per-role") as TrainingCell;
    expect(from?.recipe).toMatchObject({ train: { steps: 0 }, warmStart: { steps: 40 } });
    expect(Object.keys(from?.recipe.evaluation.compare ?? {})).toEqual(["single-agent", "scout-alone"]);
  });

  it("resolves whose policy a role uses", () => {
    const { run, policies } = at("swapped") as EvaluationCell;
    expect(run).toBe(at("team-per-role"));
    const used = Object.entries(policies).map(([role, { cell, role: of }]) => `${role} ${cell.row} ${of}`);
    expect(used).toEqual(["scout team-per-role planner", "planner team-per-role scout"]);
  });

  it("changesIn applies to one column and overrides row and column", async () => {
    const given = "changes: { train: { steps: 5 } }, changesIn: { boards: { train: { steps: 7 } } }";
    const text = withRows(`  a: { train: { ${given} } }`);
    const both = text.replace("{ boards:", `{ others: { recipe: ${small} }, boards:`);
    const { cells } = await expand(load(both), [1]);
    const steps = cells.map((cell) => [cell.column, (cell as TrainingCell).recipe.train.steps]);
    expect(Object.fromEntries(steps)).toEqual({ boards: 7, others: 5 });
  });

  it("computes common cells of two rows once", async () => {
    const rows =
      "  a: { train: {} }\n  b: { title: B, train: { changes: { checkpoint: { every: 3 }, engine: { threads: 1 } } } }";
    const { cells, places } = await expand(load(withRows(rows)), [1]);
    expect(cells).toHaveLength(1);
    expect(places.map(({ row, cell }) => `${row} ${cell.row}`)).toEqual(["a a", "b a"]);
  });
});

/** A row that starts from a warm start, with a change. */
function warmed(change: string): string {
  const shared = "shared: { warm: { changes: { train: { steps: 0 } } } }\n";
  return withRows(`  a: { train: { from: warm, changes: ${change} } }`, shared);
}

/** By row. */
async function hashes(text: string): Promise<Record<string, string>> {
  return Object.fromEntries((await expand(load(text), [1])).cells.map(({ row, hash }) => [row, hash]));
}

describe("a cell's fingerprint", async () => {
  const plain = await hashes(warmed("{}"));

  it("depends on the training only", async () => {
    expect((await hashes(warmed("{ train: { steps: 7 } }")))["a"]).not.toBe(plain["a"]);
    expect((await hashes(warmed("{ algorithm: { samples: 5 } }")))["a"]).not.toBe(plain["a"]);
    expect((await hashes(warmed("{ evaluation: { every: 3 } }")))["a"]).not.toBe(plain["a"]);
    const silent = "name: other, description: x, checkpoint: { every: 9 }, warmStart: { steps: 1 }";
    expect(await hashes(warmed(`{ ${silent} }`))).toEqual(plain);
  });

  it("changes with the training it starts from, and with the seed", async () => {
    const longer = warmed("{}").replace(
      `recipe: ${small}`,
      `recipe: ${small}, changes: { warmStart: { steps: 41 } }`,
    );
    expect((await hashes(longer))["warm"]).not.toBe(plain["warm"]);
    expect((await hashes(longer))["a"]).not.toBe(plain["a"]);
    const [, second] = (await expand(load(warmed("{}")), [2])).cells;
    expect(second?.hash).not.toBe(plain["a"]);
  });

  it("of a warm start does not depend on the reinforcement after it", async () => {
    const column =
      "changes: { train: { tasksPerStep: 5, minibatches: 2 }, evaluation: { every: 1 }, algorithm: { samples: 2 } }";
    const other = await hashes(warmed("{}").replace(`recipe: ${small}`, `recipe: ${small}, ${column}`));
    expect(other["warm"]).toBe(plain["warm"]);
    expect(other["a"]).not.toBe(plain["a"]);
  });
});
