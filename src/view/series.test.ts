import { expect, it } from "vitest";
import { z } from "zod";
import { stepMetricsSchema } from "../runs/records.ts";
import type { Curves, RunLine } from "./api.ts";
import { kinds, nearest, panelsOf, type Settings } from "./page/series.ts";

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
const columns = [...recorded, "seconds", "tokensPerSecond", "hours", "coachTokens", "coachDollars"];

it("has a chart for figures that are recorded, and for nothing else", () => {
  const found = kinds.map(({ title, of }) => [title, columns.filter((name) => of.test(name)).length]);
  expect(found).toEqual(kinds.map(({ title }) => [title, 1]));
  expect(new Set(kinds.map(({ title }) => title)).size).toBe(kinds.length);
  const figures = ["entropy", "flatGroups", "advantageShare", "length", "influence"];
  const shown = figures.map((name) => kinds.some(({ of }) => of.test(`rollout.roles.planner.${name}`)));
  expect(shown).toEqual(figures.map(() => true));
});

it("has a line for each role, also one that is called like a key of records, and none for a term of a reward", () => {
  const run = runOf(0, "a", {
    "rollout.roles.planner.length": [3],
    "rollout.roles.parts.length": [5],
    "rollout.roles.planner.parts.length": [7],
  });
  const panels = panelsOf([run], { isMean: false, isWhole: false });
  expect(panels.map(({ title, lines }) => [title, lines.map(({ name }) => name)])).toEqual([
    ["Length", ["planner", "parts"]],
  ]);
});

function timedOf(nothing: readonly null[]): Curves["timed"] {
  const money = { coachTokens: nothing, coachDollars: nothing };
  return { seconds: nothing, tokensPerSecond: nothing, hours: nothing, ...money };
}

/** A run in whose records each step has the figures of these columns. */
function runOf(index: number, training: string, figures: Curves["columns"]) {
  const count = Math.max(...Object.values(figures).map(({ length }) => length));
  const nothing = Array.from({ length: count }, () => null);
  const curves: Curves = {
    steps: nothing.map((_, step) => step + 1),
    stages: nothing.map(() => "reinforcement"),
    columns: figures,
    timed: timedOf(nothing),
    evaluations: [],
  };
  const line = { run: `run ${index}`, recipe: "recipe", algorithm: "grpo", training } as RunLine;
  return { line, curves };
}

const settings = { isMean: true, isWhole: false } satisfies Settings;

it("only runs that differ in their seed alone are averaged", () => {
  const shown = ["a", "a", "b"].map((training, index) =>
    runOf(index, training, { "rollout.success": [index / 4] }),
  );
  const [panel] = panelsOf(shown, settings);
  expect(panel?.lines.map(({ name, points }) => [name, points[0]?.y])).toEqual([
    ["run 0, mean of 2 seeds", 0.125],
    ["run 2", 0.5],
  ]);
});

it("a mean is of the steps that every seed has, and says how many seeds have any", () => {
  const shown = [
    runOf(0, "a", { "rollout.success": [0.25, 0.5, 0.75] }),
    runOf(1, "a", { "rollout.success": [0.75, null, 0.25] }),
    runOf(2, "a", {}),
  ];
  const [panel] = panelsOf(shown, settings);
  expect(panel?.lines.map(({ name }) => name)).toEqual(["run 0, mean of 3 seeds (2 have it)"]);
  expect(panel?.lines[0]?.points.map(({ x, y }) => `${x}: ${y}`)).toEqual(["1: 0.5", "3: 0.5"]);
});

it("the interval of a share is a part of 0 to 1, and that of another figure is not cut", () => {
  const shown = [0.25, 0.75].map((value, index) =>
    runOf(index, "a", { "rollout.success": [value], "rollout.roles.planner.team": [value] }),
  );
  const [share, other] = panelsOf(shown, settings).map(({ lines }) => lines[0]?.points[0]?.interval);
  expect(share).toEqual({ low: 0, high: 1 });
  // The mean is 0.5, its standard error 0.25, and the quantile of one degree of freedom 12.7062.
  expect(other?.low).toBeCloseTo(0.5 - 0.25 * 12.7062, 3);
  expect(other?.high).toBeCloseTo(0.5 + 0.25 * 12.7062, 3);
});

it("a point of a long run is the mean of neighbouring steps, and says of how many", () => {
  const steps = Array.from({ length: 1000 }, (_, index) => index + 1);
  const run = runOf(0, "a", {
    "rollout.success": steps.map((step) => step / 1000),
    "rollout.turns": steps,
    "rollout.flatGroups": [0.5],
  });
  const panels = panelsOf([run], settings);
  expect(panels.map(({ title, note }) => [title, note])).toEqual([
    ["Success in training", "share of kept trajectories; each point the mean of 7 steps"],
    ["Zero-variance groups", "share of groups"],
    ["Turns", "each point the mean of 7 steps"],
  ]);
  const points = panels[2]?.lines[0]?.points ?? [];
  // 142 points of 7 steps, and one of the last 6: 995 to 1000.
  expect(points.length).toBe(143);
  expect([points[0], points[1], points.at(-1)]).toEqual([
    { x: 7, y: 4 },
    { x: 14, y: 11 },
    { x: 1000, y: 997.5 },
  ]);
});

it("a total of a long run is that of the last step of each point, and has no mean", () => {
  const steps = Array.from({ length: 450 }, (_, index) => 1000 * (index + 1));
  const [panel] = panelsOf([runOf(0, "a", { "rollout.sampledSoFar": steps })], settings);
  expect(panel?.note).toBe("sampled in training so far");
  const points = panel?.lines[0]?.points ?? [];
  expect([points.length, points[0], points.at(-1)]).toEqual([150, { x: 3, y: 3000 }, { x: 450, y: 450_000 }]);
});

/** Over two seeds with the figures 0 and 0.9. */
function intervalsOf(column: string) {
  const runs = [0, 0.9].map((value, index) => runOf(index, "a", { [column]: [value] }));
  return panelsOf(runs, settings).flatMap(({ lines }) => lines[0]?.points[0]?.interval ?? []);
}

it("an interval over seeds goes as far as the figure can", () => {
  expect(intervalsOf("rollout.roles.planner.truncated")).toEqual([{ low: 0, high: 1 }]);
  const [influence] = intervalsOf("rollout.roles.planner.influence");
  expect([influence?.low, (influence?.high ?? 0) > 1]).toEqual([0, true]);
  expect(intervalsOf("rollout.roles.planner.team")[0]?.low).toBeLessThan(0);
});

it("shows tokens per second as such, and beside it the seconds", () => {
  const { line, curves } = runOf(0, "a", { "rollout.turns": [null, null] });
  const timed: Curves = {
    ...curves,
    timed: { ...curves.timed, seconds: [2, 4], tokensPerSecond: [100, 50] },
  };
  const panels = panelsOf([{ line, curves: timed }], settings);
  expect(panels.map(({ title, lines }) => [title, lines[0]?.points.map(({ y }) => y)])).toEqual([
    ["Tokens per second", [100, 50]],
    ["Seconds per step", [2, 4]],
  ]);
});

it("finds the step nearest to a place, the earlier of two", () => {
  expect([-1, 14, 16, 29, 31, 30, 99].map((x) => nearest([10, 20, 40], x))).toEqual([
    10, 10, 20, 20, 40, 20, 40,
  ]);
  expect(nearest([], 3)).toBeNull();
});

it("counts steps of the run, also where the warm start is not shown", () => {
  const line = { run: "run", recipe: "recipe", algorithm: "grpo" } as RunLine;
  const evaluation = { team: "team", moment: "during", success: 0.5, low: 0, high: 1, tasks: 9 } as const;
  const curves: Curves = {
    steps: [1, 2, 3, 4],
    stages: ["warm-start", "warm-start", "reinforcement", "reinforcement"],
    columns: { "rollout.success": [null, null, 0.5, 0.75] },
    timed: { ...timedOf([null, null, null, null]), seconds: [9, 8, 7, 6] },
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
