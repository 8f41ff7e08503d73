import { expect, it } from "vitest";
import { z } from "zod";
import { stepMetricsSchema } from "../runs/records.ts";
import type { Curves, RunLine } from "./api.ts";
import { kinds, panelsOf } from "./page/series.ts";

interface Schema {
  readonly type?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: Schema | boolean;
  readonly anyOf?: readonly Schema[];
}

/** Names of the columns that a record can have; roles, policies and terms of rewards are `NAME`. */
function columnsIn({ properties, additionalProperties, anyOf }: Schema, path = ""): string[] {
  const inner = { ...properties };
  if (typeof additionalProperties === "object") inner["NAME"] = additionalProperties;
  const names = Object.entries(inner).flatMap(([key, schema]) =>
    columnsIn(schema, path === "" ? key : `${path}.${key}`),
  );
  if (names.length > 0) return names;
  return anyOf === undefined ? [path] : anyOf.flatMap((schema) => columnsIn(schema, path));
}

const recorded = [...new Set(columnsIn(z.toJSONSchema(stepMetricsSchema) as Schema))];
const columns = [...recorded, "seconds", "tokensPerSecond"];

it("has a chart for figures that are recorded, and for nothing else", () => {
  const found = kinds.map(({ title, of }) => [title, columns.filter((name) => of.test(name)).length]);
  expect(found).toEqual(kinds.map(({ title }) => [title, 1]));
  expect(new Set(kinds.map(({ title }) => title)).size).toBe(kinds.length);
  const figures = ["entropy", "flatGroups", "advantageShare", "length", "influence"];
  const shown = figures.map((name) => kinds.some(({ of }) => of.test(`rollout.roles.planner.${name}`)));
  expect(shown).toEqual(figures.map(() => true));
});

it("has a line for each role, also one that is called like a key of records, and none for a term of a reward", () => {
  const curves: Curves = {
    steps: [1],
    stages: ["reinforcement"],
    columns: {
      "rollout.roles.planner.length": [3],
      "rollout.roles.parts.length": [5],
      "rollout.roles.planner.parts.length": [7],
    },
    seconds: [null],
    tokensPerSecond: [null],
    evaluations: [],
  };
  const line = { run: "run", recipe: "recipe", algorithm: "grpo" } as RunLine;
  const panels = panelsOf([{ line, curves }], { isMean: false, isWhole: false });
  expect(panels.map(({ title, lines }) => [title, lines.map(({ name }) => name)])).toEqual([
    ["Length", ["planner", "parts"]],
  ]);
});

const curvesOf = (success: number) =>
  ({
    steps: [1],
    stages: ["reinforcement"],
    columns: { "rollout.success": [success] },
    seconds: [null],
    tokensPerSecond: [null],
    evaluations: [],
  }) as Curves;

it("only runs that differ in their seed alone are averaged", () => {
  const shown = ["a", "a", "b"].map((training, index) => ({
    line: { run: `run ${index}`, recipe: "recipe", algorithm: "grpo", training } as RunLine,
    curves: curvesOf(index / 4),
  }));
  const [panel] = panelsOf(shown, { isMean: true, isWhole: false });
  expect(panel?.lines.map(({ name, points }) => [name, points[0]?.y])).toEqual([
    ["run 0, mean of 2 seeds", 0.125],
    ["run 2", 0.5],
  ]);
});

it("counts steps of the run, also where the warm start is not shown", () => {
  const line = { run: "run", recipe: "recipe", algorithm: "grpo" } as RunLine;
  const evaluation = {
    team: "team",
    moment: "during",
    success: 0.5,
    low: 0,
    high: 1,
    score: 1,
    tasks: 9,
  } as const;
  const curves: Curves = {
    steps: [1, 2, 3, 4],
    stages: ["warm-start", "warm-start", "reinforcement", "reinforcement"],
    columns: { "rollout.success": [null, null, 0.5, 0.75] },
    seconds: [9, 8, 7, 6],
    tokensPerSecond: [null, null, null, null],
    evaluations: [0, 2, 4].map((step) => ({ ...evaluation, step })),
  };
  const steps = (isWhole: boolean) =>
    panelsOf([{ line, curves }], { isMean: false, isWhole }).map(({ title, lines }) => [
      title,
      lines[0]?.points.map(({ x }) => x),
    ]);
  expect(steps(false)).toEqual([
    ["Success", [2, 4]],
    ["Success in training", [3, 4]],
    ["Seconds per step", [3, 4]],
  ]);
  expect(steps(true)).toEqual([
    ["Success", [0, 2, 4]],
    ["Success in training", [3, 4]],
    ["Seconds per step", [1, 2, 3, 4]],
  ]);
});
