/* oxlint-disable unicorn/consistent-function-scoping */
import { expect, test, describe, it } from "vitest";
import type { Algorithm } from "../credit/algorithm.ts";
import { algorithmFrom } from "../credit/algorithms.ts";
import { credit } from "../credit/credit.ts";
import { toData } from "../credit/data.ts";
import { action, decision, type Earning, trajectories } from "../credit/testing.ts";
import type { Environment } from "../environments/environment.ts";
import type { Episode } from "../rollout/episode.ts";
import { faultyEngine, TinyEngine } from "../engines/testing/tiny-engine.ts";
import type { RolloutMetrics, StepMetrics } from "../runs/records.ts";
import {
  flatStreaks,
  flatWarnings,
  isFlatRole,
  outsideRange,
  patience,
  rolloutMetrics,
  uncalledIn,
  unusedRewards,
} from "./metrics.ts";
import { readMetrics, readResult } from "../runs/read.ts";
import { tinyRecipe } from "./testing/tiny-recipe.ts";
import type { TrainEvent } from "./events.ts";
import { train } from "./run.ts";
import { trainings } from "./testing/trainings.ts";
import { temporaryFolder } from "../models/test-model.ts";

const { at, stopped } = trainings();

const settingOf = (algorithm: Algorithm) => ({ algorithm, isWhole: true, influence: new Map() });
const playedOf = (episodes: readonly Episode[]) => {
  return { episodes, kept: episodes, failed: [], waves: 1, tasks: episodes.length, sampledTokens: 0 };
};

function metricsOf(...groups: readonly (readonly Earning[])[]): RolloutMetrics {
  const episodes = groups.map((actions, task) => decision(task, actions));
  const algorithm = algorithmFrom("at-grpo");
  return rolloutMetrics(playedOf(episodes), credit(episodes, algorithm), settingOf(algorithm));
}

const [low, high, none] = [action({ team: 0.25 }), action({ team: 0.75 }), action({ reward: null })];

test("actions without a reward are counted, and are in no mean and no group", () => {
  const metrics = metricsOf([low, none, high], [none, none]);
  expect(metrics).toMatchObject({ unrewarded: 3, groups: 1, flatGroups: 0 });
  expect(metrics.roles["solver"]).toMatchObject({ actions: 5, team: 0.5, local: 0 });
  expect(metrics.roles["solver"]?.advantageSpread).toBe(
    metricsOf([low, high]).roles["solver"]?.advantageSpread,
  );
  expect(metricsOf([low, high])).not.toHaveProperty("unrewarded");
  const nothing = { team: null, local: null, advantageSpread: 0 };
  expect(metricsOf([none, none]).roles["solver"]).toMatchObject(nothing);
  // The samples of one state share their prompt's tokens.
  expect(metricsOf([low, high], [low, high]).promptTokens).toBe(2 * 2);
});

test("actions that are left out are counted by reason, and are in no group", () => {
  const lines = [0, 1, 0.5].map((score) => ({ actions: [action()], score }));
  const episodes = [trajectories(0, lines)];
  const played = playedOf(episodes);
  const algorithm = algorithmFrom("dr-grpo", { samples: 3, downSample: 2 });
  const credited = credit(episodes, algorithm);
  expect(credited.map(({ leftOut, advantage }) => [leftOut, advantage])).toEqual([
    [undefined, -0.5],
    [undefined, 0.5],
    ["down-sampled", 0],
  ]);
  const metrics = rolloutMetrics(played, credited, settingOf(algorithm));
  expect(metrics).toMatchObject({ leftOut: { "down-sampled": 1 }, groups: 1, flatGroups: 0 });
  expect(metrics).not.toHaveProperty("unrewarded");
  expect(metrics.roles["solver"]?.advantageSpread).toBe(0.5);
  expect(toData(credited, algorithm).flatMap((one) => one.continuations)).toHaveLength(2);
});

test("what a team achieves is what its first trajectory does, if alternatives to it are continued", () => {
  const lines = [1, 0, 0].map((score) => ({ actions: [action()], score }));
  const played = playedOf([trajectories(0, lines)]);
  const success = (algorithm: Algorithm): number => rolloutMetrics(played, [], settingOf(algorithm)).success;
  expect(success(algorithmFrom("c3"))).toBe(1);
  expect(success(algorithmFrom("dr-grpo"))).toBeCloseTo(1 / 3);
});

test("of programs, runs without a call are counted, and own rewards that nothing learns from", () => {
  const called = decision(0, [action({ reward: { team: 1, local: 0.5, parts: { own: 0.5 } } }), low]);
  const [root, first] = called.nodes;
  const silent = {
    ...called,
    actions: [],
    nodes: [root, { ...first, actions: [], done: true }],
  } as typeof called;
  expect(uncalledIn([called, silent, silent])).toEqual({ uncalled: 2 });
  expect(uncalledIn([called])).toEqual({});
  const program = { drive: () => Promise.reject(new Error("not played")) } as unknown as Environment;
  const outcome = algorithmFrom("mas-grpo");
  expect(unusedRewards(program, [called], outcome)).toEqual({ unusedRewards: 1 });
  expect(unusedRewards(program, [called], algorithmFrom("mas-grpo", { reward: "rewards" }))).toEqual({});
  expect(unusedRewards({} as Environment, [called], outcome)).toEqual({});
});

test("rewards of a server whose sum is a score are not outside the range, but a score is", () => {
  const { driven, stepped } = {
    driven: { name: "openenv", drive: () => {}, oracle: { summable: ["solver"] } },
    stepped: { name: "game", oracle: { summable: ["solver"] } },
  } as unknown as Record<"driven" | "stepped", Environment>;
  const lineOf = (score: number) => [trajectories(0, [{ actions: earning(-0.25, 1.25), score }])];
  expect(outsideRange(driven, lineOf(1))).toBeNull();
  expect(outsideRange(driven, lineOf(1.5))?.problem).toContain("the score 1.5");
  expect(outsideRange(stepped, lineOf(1))?.problem).toContain("the team reward -0.25");
});

const earning = (...teams: readonly number[]) => teams.map((team) => action({ team }));

const reference = ({ sample }: { readonly sample: number }) => Float32Array.of(-1, -2 - sample);

describe("a role is flat", () => {
  it("if nothing differs within its groups, although groups differ", () => {
    const atGrpo = algorithmFrom("at-grpo");
    const step = (...teams: readonly (readonly number[])[]) =>
      isFlatRole(
        credit(
          teams.map((one, task) => decision(task, earning(...one))),
          atGrpo,
        ),
      );
    expect(step([1, 1], [0, 0])).toBe(true);
    expect(step([1, 1], [0, 1])).toBe(false);
  });

  it("in the whole batch, where that is compared", () => {
    const row = algorithmFrom("reinforce-plus-plus", { kl: { where: "none" } });
    const step = (...scores: readonly number[]) =>
      isFlatRole(
        credit(
          scores.map((score, task) => trajectories(task, [{ actions: earning(score), score }])),
          row,
        ),
      );
    expect(step(0.5, 0.5)).toBe(true);
    expect(step(0.5, 0.75)).toBe(false);
  });

  it("whatever KL it was charged", () => {
    const kl = { where: "reward", estimator: "k1", coefficient: 0.1 };
    const credited = credit([decision(0, earning(1, 1))], algorithmFrom("at-grpo", { kl }), { reference });
    expect(isFlatRole(credited)).toBe(true);
  });
});

const step = (flat: Readonly<Record<string, boolean>>): StepMetrics => {
  const roles = Object.entries(flat).map(([name, is]) => [name, is ? { flat: true } : {}]);
  return { rollout: { roles: Object.fromEntries(roles) as object } } as unknown as StepMetrics;
};
const steps = (count: number, flat: Readonly<Record<string, boolean>>) =>
  Array.from({ length: count }, () => step(flat));

describe("steps without a difference", () => {
  it("are counted up to the last one, and reported once", () => {
    const long = [step({ a: false, b: false }), ...steps(patience, { a: true, b: false })];
    expect(flatStreaks(long)).toEqual({ a: patience });
    const atGrpo = algorithmFrom("at-grpo");
    expect(flatWarnings(long, atGrpo).map(({ key }) => key)).toEqual(["team.roles.a"]);
    expect(flatWarnings(long.slice(0, -1), atGrpo)).toEqual([]);
    expect(flatWarnings([...long, step({ a: true, b: false })], atGrpo)).toEqual([]);
    expect(flatStreaks([...long, step({ a: false, b: false })])).toEqual({});
  });

  it("are explained by what others earn, and by the algorithm", () => {
    const alone = steps(patience, { a: true });
    const [first] = flatWarnings(steps(patience, { a: true, b: false }), algorithmFrom("at-grpo"));
    expect(first?.fix).toContain("rewards of the b do differ");
    expect(flatWarnings(alone, algorithmFrom("at-grpo"))[0]?.fix).toContain("reinforce-plus-plus");
    expect(flatWarnings(alone, algorithmFrom("ppo"))[0]?.fix).toBe(
      "easier tasks, a longer warm start, or a judge of single actions make rewards differ",
    );
  });
});

describe("a training in which nothing is ever rewarded", () => {
  it("says so at step 20, also when it was resumed in between, and in its result", async () => {
    const tiny = tinyRecipe({
      warmStart: undefined,
      train: { steps: 22, tasksPerStep: 1, learningRate: 0.001 },
      evaluation: { tasks: 1 },
      checkpoint: { every: 1, keep: 1 },
    });
    // Every action earns nothing.
    const environment = { ...tiny.environment, step: flatStep(tiny.environment) };
    const run = async (until: number): Promise<string[]> => {
      const isLast = (event: TrainEvent) => event.type === "step" && event.metrics.step >= until;
      const { events } = await stopped("flat", { ...tiny, environment }, isLast);
      return events.flatMap((event) =>
        event.type === "warning" && event.key.startsWith("team.roles") ? [event.problem] : [],
      );
    };
    expect(await run(7)).toEqual([]);
    expect(await run(19)).toEqual([]);
    expect(await run(Infinity)).toEqual([
      expect.stringContaining("for 20 steps, nothing that the scout wrote"),
      expect.stringContaining("for 20 steps, nothing that the planner wrote"),
    ]);
    expect((await readMetrics(at("flat"))).at(-1)?.rollout?.roles["scout"]?.flat).toBe(true);
    expect((await readResult(at("flat"))).flatRoles).toEqual({ scout: 22, planner: 22 });
  });
});

type TinyEnvironment = ReturnType<typeof tinyRecipe>["environment"];

function flatStep(environment: TinyEnvironment): TinyEnvironment["step"] {
  return async (...given) => {
    const result = await environment.step(...given);
    const rewards = Object.entries(result.rewards).map(([seat, reward]) => [
      seat,
      { ...reward, team: 0, local: 0 },
    ]);
    return { ...result, rewards: Object.fromEntries(rewards) as typeof result.rewards };
  };
}

describe("a sampler whose log-probabilities are not the trainer's", () => {
  const trained = async (logprobError: number): Promise<{ mismatches: number[]; warnings: string[] }> => {
    const directory = temporaryFolder();
    const tiny = tinyRecipe({
      warmStart: undefined,
      train: { steps: 3, tasksPerStep: 4, learningRate: 0.01 },
      evaluation: { tasks: 1 },
    });
    const warnings: string[] = [];
    const onEvent = (event: TrainEvent): void => {
      if (event.type === "warning" && event.key === "engine") warnings.push(event.problem);
    };
    const engine = faultyEngine(new TinyEngine(), { logprobError });
    await train({ ...tiny, directory, engine, onEvent });
    const metrics = await readMetrics(directory);
    return { mismatches: metrics.flatMap(({ rollout }) => rollout?.mismatch ?? []), warnings };
  };

  it("is seen in every step, and reported once", async () => {
    const { mismatches, warnings } = await trained(0.5);
    expect(mismatches.length).toBeGreaterThan(1);
    for (const mismatch of mismatches) expect(mismatch).toBeCloseTo(0.5, 6);
    expect(warnings).toHaveLength(1);
    expect(warnings[0]).toMatch(/differ from the trainer's by 0\.500 nats/);
  });

  it("and one that is right is within rounding", async () => {
    const { mismatches, warnings } = await trained(0);
    expect(Math.max(...mismatches)).toBeLessThan(1e-6);
    expect(warnings).toEqual([]);
  });
});
