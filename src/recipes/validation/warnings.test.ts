import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { Algorithm } from "../../credit/algorithm.ts";
import { algorithmFrom, algorithms } from "../../credit/algorithms.ts";
import { credit } from "../../credit/credit.ts";
import { action, trajectories } from "../../credit/testing.ts";
import type { Action } from "../../rollout/episode.ts";
import { resolveForPlan, resolveRecipe } from "../resolve.ts";
import { jsonSchemaOf } from "../shape.ts";
import { recipeWarnings, showWarning, sumsActionRewards } from "./warnings.ts";

const recipes = join(import.meta.dirname, "../../../recipes");

/** Warnings for an included recipe with overrides. */
async function warned(recipe: string, ...changes: readonly string[]): Promise<string[]> {
  return recipeWarnings(await resolveRecipe(join(recipes, `${recipe}.yaml`), changes)).map(showWarning);
}

/** The warning about a row on Plan-Path with two simultaneous roles and two turns. */
function warnedOnPath(row: string, ...changes: readonly string[]): Promise<string[]> {
  const team = ["team.phases=[[scout, planner]]", "team.turns=2"];
  const algorithm = ["algorithm=null", `algorithm={name: ${row}, samples: 4}`];
  return warned("algorithms/at-grpo", ...team, ...algorithm, ...changes);
}

const said = (reward: string, turns: number): string =>
  `warning: algorithm.reward: \`${reward}\` sums over ${turns} turns the rewards of plan-path for actions of scout and ` +
  "planner; the sum may be larger without success; use `reward: progress`, the changes of the score, which cannot be " +
  "exploited";

it("a profile that was never run against its server gives a warning", async () => {
  const planned = await resolveForPlan(join(recipes, "cluster/qwen3-1-7b-skyrl.yaml"));
  expect(recipeWarnings(planned).map(showWarning)).toEqual([
    expect.stringMatching(
      /^warning: engine\.profile: `skyrl-fsdp` was never run against a server of this kind/,
    ),
  ]);
  expect(await warned("plan-path", "engine={type: tinker, url: 'http://one:1', profile: troupe}")).toEqual(
    [],
  );
});

describe("a recipe that sums action rewards over several turns", () => {
  it.each([
    ["magrpo", "action"],
    ["mareinforce", "action"],
    ["marloo", "action"],
    ["maremax", "action"],
    ["reinforce", "turns"],
    ["reinforce-plus-plus", "turns"],
    ["mas-grpo", "rewards"],
    ["ppo", "action"],
    ["iac", "action"],
    ["maac", "action"],
  ])("gives one warning: %s with reward: %s", async (row, reward) => {
    expect(await warnedOnPath(row, `algorithm.reward=${reward}`)).toEqual([said(reward, 2)]);
  });

  it.each([
    ["at-grpo"],
    ["magrpo"],
    ["magrpo", "algorithm.handOver=best"],
    ["magrpo", "algorithm.reward=action", "algorithm.handOver=random"],
    ["magrpo", "algorithm.reward=action", "algorithm.discount=0"],
    ["magrpo", "algorithm.reward=action", "team.turns=1"],
    ["magrpo", "algorithm.reward=action", "train.steps=0"],
    ["reinforce-plus-plus"],
    ["ppo"],
    ["ppo", "algorithm.reward=progress"],
    ["mas-grpo", "algorithm.reward=progress"],
  ])("gives none if it sums something else or nothing: %s %s %s", async (row, ...changes) => {
    expect(await warnedOnPath(row, ...changes)).toEqual([]);
  });

  it("gives none if the seats are summable", async () => {
    expect(await warned("algorithms/magrpo", "algorithm.reward=action")).toEqual([]);
  });

  it("names only the seats that are not summable", async () => {
    const ppo = ["algorithm=null", "algorithm={name: ppo, reward: action}"];
    expect(await warned("sudoku", ...ppo)).toEqual([
      expect.stringContaining("the rewards of sudoku for actions of proposer; the sum"),
    ]);
    const alone = ["team.roles.proposer=null", "team.phases=[[planner]]"];
    expect(await warned("sudoku", ...ppo, ...alone)).toEqual([]);
  });
});

describe("whether a row sums action rewards over turns follows from its credit", () => {
  const cases = Object.entries(algorithms).flatMap(([name, { options }]) => {
    const { properties = {} } = jsonSchemaOf(options);
    const given = (option: string): object[] =>
      properties[option]?.enum?.map((value) => ({ [option]: value })) ?? [{}];
    const rest = {
      ...("lambda" in properties ? { lambda: 1 } : {}),
      ...("kl" in properties ? { kl: { where: "none" } } : {}),
    };
    return given("reward").flatMap((reward) =>
      given("handOver").map((handOver) => ({ name, chosen: { ...reward, ...handOver }, rest })),
    );
  });

  it.each(cases)("$name $chosen", ({ name, chosen, rest }) => {
    const algorithm = algorithmFrom(name, { ...chosen, ...rest });
    expect(sumsActionRewards({ name, ...chosen }, algorithm)).toBe(dependsOnLaterPay(algorithm));
  });
});

const values = ({ tokens }: Action): Float32Array => new Float32Array(tokens.length);

/** Whether the first action's return or value target depends on the second turn's reward. */
function dependsOnLaterPay(algorithm: Algorithm): boolean {
  const [little, much] = [0.25, 0.75].map((later) => {
    const actions = [action({ local: 0.5 }), action({ turn: 1, local: later })];
    const episode = trajectories(0, [
      { actions, score: 0.5 },
      { actions, score: 0 },
    ]);
    const [first] = credit([episode], algorithm, { values });
    return { return: first?.return, targets: first?.valueTargets };
  });
  return JSON.stringify(little) !== JSON.stringify(much);
}

describe("a role that calls tools", () => {
  const tool = { name: "look" };

  it.each([
    ["turn", 1],
    ["conversation", 0],
  ])("with `memory: %s` gives %d warnings", async (memory, count) => {
    const changes = [`team.roles.scout.memory=${memory}`];
    const resolved = await resolveRecipe(join(recipes, "plan-path.yaml"), changes);
    const { scout, ...seats } = resolved.environment.seats;
    if (scout === undefined) throw new Error("Plan-Path has a scout");
    const environment = { ...resolved.environment, seats: { ...seats, scout: { ...scout, tools: [tool] } } };
    const found = recipeWarnings({ ...resolved, environment }).map(({ key }) => key);
    expect(found).toEqual(Array<string>(count).fill("team.roles.scout.memory"));
  });
});

const coach = (options: string): string =>
  `judge={name: coach, provider: google, model: gemini-2.5-flash, fills: all, ${options}}`;

describe("comments of a coach", () => {
  it.each([
    ["comments: true, truth: { scout: visible }", 1],
    ["comments: true, truth: visible", 1],
    ["comments: true", 0],
    ["truth: visible", 0],
  ])("with %s give %d warnings", async (options, count) => {
    const found = await warned("plan-path", coach(options));
    expect(found.filter((line) => line.startsWith("warning: judge.comments:"))).toHaveLength(count);
  });
});
