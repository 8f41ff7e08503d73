import fs from "node:fs/promises";
import { beforeAll, expect, test } from "vitest";
import { TroupeError } from "../errors.ts";
import { readEpisodes } from "../rollout/stored.ts";
import { collected } from "../rollout/testing/collected.ts";
import { checkpointSteps } from "../runs/checkpoints.ts";
import { readEpisodeIndex } from "../runs/read-episodes.ts";
import { readData, readEvaluations, readMetrics, readTimings } from "../runs/read.ts";
import type { RecipeInput } from "../recipes/schema.ts";
import type { Evaluation } from "../runs/records.ts";
import type { Resolved } from "./state.ts";
import { supervisedRecipe } from "../recipes/supervised.ts";
import { tinyRecipe } from "./testing/tiny-recipe.ts";
import { hashEngineFor, trainings, type Trained } from "./testing/trainings.ts";

const consistent = { isConsistent: true };
const { at, trained, stopped, inParts, recordsOf } = trainings(consistent);

const checkpoint = { every: 2, keep: 1 };
const tiny = tinyRecipe({ checkpoint });
/** Reinforcement of one step. */
const brief: Partial<RecipeInput> = {
  warmStart: undefined,
  train: { steps: 1, tasksPerStep: 1, learningRate: 0.001 },
  evaluation: { tasks: 1 },
};
let whole: Trained;
beforeAll(async () => {
  whole = await trained("whole", tiny);
});

const twoPolicies = (frozen = false): Partial<RecipeInput> => ({
  team: {
    roles: {
      scout: { policy: "first", prompt: "", maxTokens: 8, frozen },
      planner: { policy: "second", prompt: "", maxTokens: 8 },
    },
    phases: [["scout"], ["planner"]],
    turns: 2,
  },
  policies: { first: { model: { preset: "nano" } }, second: { model: { preset: "nano" } } },
  evaluation: { tasks: 2 },
});

/** Warnings about the environment itself. */
function warned({ events }: Trained): string[] {
  return events.flatMap((event) =>
    event.type === "warning" && event.key === "environment" ? [event.problem] : [],
  );
}

test("rewards outside [0, 1] are reported once", async () => {
  const { environment } = tiny;
  const large = {
    ...environment,
    step: async (...given: Parameters<typeof environment.step>) => {
      const { rewards, ...rest } = await environment.step(...given);
      const tenfold = Object.entries(rewards).map(([seat, reward]) => [seat, { ...reward, team: 10 }]);
      return { ...rest, rewards: Object.fromEntries(tenfold) as typeof rewards };
    },
  };
  expect(warned(whole)).toEqual([]);
  const resolved = { ...tinyRecipe(brief), environment: large };
  expect(warned(await trained("large", resolved))).toEqual([
    "plan-path gave the team reward 10 to scout in train/1/0; rewards and scores belong in [0, 1]",
  ]);
});

/** A run whose tasks are from a data set, with the given digest of its contents. */
function onData(digest: string): Resolved {
  const resolved = tinyRecipe({ ...brief, train: { steps: 2, tasksPerStep: 1, learningRate: 0.001 } });
  const origin = { dataset: "owner/set", config: "default", commit: "a".repeat(40), files: {} };
  const tasks = { ...origin, slices: "train", problems: 9, malformed: 0, failing: 0, excluded: 0, digest };
  return { ...resolved, environment: { ...resolved.environment, data: { train: tasks } } };
}

test("the data of the tasks is recorded, and a change in a resumed run is logged", async () => {
  await stopped("data", onData("one"), ({ type }) => type === "step");
  const [first, ...none] = await readData(at("data"));
  expect(first).toMatchObject({ step: 0, data: { train: { commit: "a".repeat(40), digest: "one" } } });
  expect(none).toEqual([]);
  const { events } = await trained("data", onData("two"));
  const logged = events.filter((event) => event.type === "warning");
  expect(logged.map(({ problem }) => problem).filter((text) => text.startsWith("the tasks"))).toEqual([
    expect.stringMatching(/^the tasks of train have changed .*commit a{12}, .*hash one, now .*hash two\)$/),
  ]);
  const recorded = (await readData(at("data"))).map(({ step, data }) => [step, data["train"]?.digest]);
  expect(recorded).toEqual([
    [0, "one"],
    [1, "two"],
  ]);
});

test("a run from warm start to table", async () => {
  const { events, status } = whole;
  expect(status).toBe("finished");
  const shown = events.flatMap((event) => {
    if (event.type === "step") return [`${event.metrics.stage} ${event.metrics.stageStep}`];
    if (event.type === "evaluation") return [`${event.evaluation.team} ${event.evaluation.moment}`];
    if (event.type === "checkpoint") return [`checkpoint ${event.step}`];
    return ["run-started", "stage-started", "finished"].includes(event.type) ? [event.type] : [];
  });
  expect(shown).toEqual([
    "run-started",
    "stage-started",
    "warm-start 1",
    "warm-start 2",
    "checkpoint 2",
    "warm-start 3",
    "checkpoint 3",
    "team before",
    "single before",
    "stage-started",
    "reinforcement 1",
    "reinforcement 2",
    "checkpoint 5",
    "team during",
    "reinforcement 3",
    "reinforcement 4",
    "checkpoint 7",
    "team after",
    "finished",
  ]);
  const directory = at("whole");
  expect((await readMetrics(directory)).map(({ step }) => step)).toEqual([1, 2, 3, 4, 5, 6, 7]);
  expect(await readTimings(directory)).toHaveLength(7 + 4);
  expect((await readEvaluations(directory)).map(({ tasks }) => tasks)).toEqual([6, 6, 3, 6]);
  const finished = events.at(-1);
  if (finished?.type !== "finished") throw new Error("unreachable: asserted above");
  expect(finished.result.table.map(({ team, moment }) => `${team} ${moment}`)).toEqual([
    "team before",
    "single before",
    "team after",
  ]);
  const { directory: weights } = finished.result.policies["shared"] ?? { directory: "" };
  expect(weights).toBe("checkpoints/step-7/shared");
  expect(await fs.readdir(at("whole", weights))).toEqual(["weights"]);
});

test("a finished run is shown again, not repeated", async () => {
  const before = await recordsOf("whole");
  const { events } = await trained("whole", tiny);
  expect(events).toMatchObject([{ type: "finished", alreadyDone: true }]);
  expect(await recordsOf("whole")).toEqual(before);
});

test("recorded episodes hold exact tokens, both rewards and the credit of every action, kept or not", async () => {
  const stored = await collected(readEpisodes(at("whole"), { step: 4, from: "training" }));
  expect(stored.map(({ episode }) => episode.id)).toEqual(["train/1/0", "train/1/1", "train/1/2"]);
  const nodes = stored.flatMap(({ episode }) => episode.nodes);
  expect(new Set(nodes.map(({ kept }) => kept))).toEqual(new Set([true, false]));
  expect(nodes.every(({ rendered = "" }) => rendered.length > 0)).toBe(true);
  const parts = nodes.flatMap(({ actions }) => actions.map(({ reward }) => Object.keys(reward?.parts ?? {})));
  expect(parts.every((names) => names.length > 0)).toBe(true);
  for (const { episode, credit = [], promptText } of stored) {
    expect(credit.map(({ action }) => action)).toEqual(episode.actions.map(({ id }) => id));
    for (const action of episode.actions) {
      const { observations } = episode.nodes.find(({ id }) => id === action.parent) ?? {};
      expect(action.logprobs).toHaveLength(action.tokens.length);
      expect(action.tokens.at(-1)).toBe(2);
      const seen = observations?.[action.seat];
      expect(promptText(action)).toContain(typeof seen === "string" ? seen.replaceAll(/\s+/g, " ") : seen);
    }
    for (const group of Map.groupBy(credit, (one) => one.group).values()) {
      expect(group).toHaveLength(3);
      expect(group.reduce((sum, { advantage }) => sum + advantage, 0)).toBeCloseTo(0, 6);
    }
  }
});

test("every episode of an evaluation is recorded, and as many of a step as the recipe says", async () => {
  const record = { training: { every: 2, perStep: 1 }, evaluation: "all" } as const;
  await trained("recorded", tinyRecipe({ record }));
  const run = at("recorded");
  const ids = (await readEpisodeIndex(run)).map(({ id }) => id);
  const evaluations = await readEvaluations(run);
  const of = ({ step, team }: Evaluation) => ids.filter((id) => id.startsWith(`evaluation/${step}/${team}/`));
  expect(evaluations.map((one) => of(one).length)).toEqual(evaluations.map(({ tasks }) => tasks));
  expect(ids.filter((id) => id.startsWith("train/"))).toEqual(["train/1/0", "train/3/0"]);
  for await (const { episode, entry, credit } of readEpisodes(run, { from: "evaluations" })) {
    expect(entry.success).toBe(episode.ends[0]?.outcome.success === true ? 1 : 0);
    expect(credit).toBeUndefined();
  }
  const nothing = { training: { perStep: 0 }, evaluation: 0 };
  await trained("none", tinyRecipe({ ...brief, record: nothing }));
  expect(await readEpisodeIndex(at("none"))).toEqual([]);
});

test("stopped after any step and resumed, a run ends with the same weights and records", async () => {
  const parts = await inParts("parts", tiny);
  // The stop after the last step only cancels its evaluation.
  const steps = [1, 2, 3, 4, 5, 6, 7];
  const interrupted = steps.map((step) => ({ type: "interrupted", step, checkpoint: step }));
  expect(parts.map(({ events }) => events.at(-1))).toMatchObject([...interrupted, { type: "finished" }]);
  expect(parts.at(-1)?.weights).toEqual(whole.weights);
  expect(await recordsOf("parts")).toEqual(await recordsOf("whole"));
});

test("the checkpoint of the best evaluation stays, also if the run is stopped after each step", async () => {
  const resolved = tinyRecipe({
    checkpoint: { ...checkpoint, best: "success" },
    evaluation: { tasks: 7, every: 1 },
  });
  const { events, weights } = await trained("best", resolved);
  const own = (await readEvaluations(at("best"))).filter(({ team }) => team === "team");
  const highest = Math.max(...own.map(({ success }) => success));
  const { step = -1, success } = own.find((one) => one.success === highest) ?? {};
  const kept = async (run: string) => checkpointSteps(at(run, "checkpoints"));
  expect([3, 4, 5, 6]).toContain(step); // else nothing would be kept that is not the newest
  expect(await kept("best")).toEqual([step, 7]);
  expect(events.at(-1)).toMatchObject({ result: { best: { step, success } } });
  const parts = await inParts("best in parts", resolved);
  expect(await kept("best in parts")).toEqual(await kept("best"));
  expect(parts.at(-1)?.weights).toEqual(weights);
});

const limitedTo = (rollout: RecipeInput["rollout"]) => tinyRecipe({ checkpoint, rollout });

test("limits on playing episodes change no result, and may change when a run is resumed", async () => {
  await stopped(
    "limited",
    limitedTo({ concurrency: 1 }),
    (event) => event.type === "step" && event.metrics.step === 5,
  );
  const resumed = await trained("limited", limitedTo({ concurrency: 2, timeoutSeconds: 60 }));
  expect(resumed.status).toBe("finished");
  expect(resumed.weights).toEqual(whole.weights);
  const { "recipe.yaml": _, ...limited } = await recordsOf("limited");
  expect(await recordsOf("whole")).toMatchObject(limited);
});

test("stopped during an evaluation, only the evaluation is repeated", async () => {
  const name = "stopped in an evaluation";
  const { status } = await stopped(
    name,
    tiny,
    (event) => event.type === "evaluation-progress" && event.team === "single",
  );
  expect(status).toBe("interrupted");
  expect((await readEvaluations(at(name))).map(({ team }) => team)).toEqual(["team"]);
  const { events } = await trained(name, tiny);
  expect(events.find((event) => event.type === "evaluation")?.evaluation.team).toBe("single");
  expect(await recordsOf(name)).toEqual(await recordsOf("whole"));
});

test.each(["sample", "forwardBackward", "optimStep"] as const)(
  "cancelled during a %s, a run resumes from its last checkpoint and ends the same",
  async (verb) => {
    const cancel = new AbortController();
    let calls = 0;
    const onCall = (called: string) => {
      calls += called === verb ? 1 : 0;
      if (calls === 6) cancel.abort();
    };
    const engine = hashEngineFor(tiny, { ...consistent, onCall });
    const { status, events } = await trained(verb, tiny, { engine, cancel: cancel.signal });
    expect(status).toBe("interrupted");
    expect(events.at(-1)?.type).toBe("interrupted");
    expect((await trained(verb, tiny)).status).toBe("finished");
    expect(await recordsOf(verb)).toEqual(await recordsOf("whole"));
  },
);

const engineWith = (threads: string, build: string) =>
  hashEngineFor(tiny, { ...consistent, arithmetic: { kernels: "scalar", threads, build } });

test("a run resumed on another engine logs and records the change, and is otherwise the same", async () => {
  const stop = new AbortController();
  await trained("moved", tiny, {
    stop: stop.signal,
    onEvent: (event) => event.type === "checkpoint" && stop.abort(),
    engine: engineWith("1", "old"),
  });
  const { events, status } = await trained("moved", tiny, { engine: engineWith("2", "new") });
  expect(status).toBe("finished");
  const changes = [
    { name: "threads", before: "1", now: "2" },
    { name: "build", before: "old", now: "new" },
  ];
  expect(events.filter(({ type }) => type === "engine-changed")).toEqual([
    { type: "engine-changed", step: 2, changes },
  ]);
  const { "engines.jsonl": engines = "", ...moved } = await recordsOf("moved");
  const { "engines.jsonl": _, ...rest } = await recordsOf("whole");
  expect(moved).toEqual(rest);
  const lines = engines.trim().split("\n");
  expect(lines.map((line) => JSON.parse(line) as unknown)).toMatchObject([
    { step: 0, arithmetic: { threads: "1", build: "old" } },
    { step: 2, arithmetic: { threads: "2", build: "new" } },
  ]);
});

test("warns only of a recipe that sums action rewards, before training", async () => {
  const magrpo = { name: "magrpo", samples: 2 };
  const algorithm = { ...magrpo, reward: "action", handOver: "all" };
  const { events } = await trained("summed", tinyRecipe({ ...brief, algorithm }));
  expect(events.slice(0, 2).map(({ type }) => type)).toEqual(["run-started", "warning"]);
  expect(events.filter(({ type }) => type === "warning")).toHaveLength(1);
  const other = await trained("changes", tinyRecipe({ ...brief, algorithm: magrpo }));
  expect(other.events.filter(({ type }) => type === "warning")).toEqual([]);
});

test("warns of an engine's tokenizer that could not be compared", async () => {
  const engine = hashEngineFor(tiny, consistent);
  const create = engine.createPolicy.bind(engine);
  engine.createPolicy = async (options) => ({ ...(await create(options)), uncheckedTokenizer: "unlike it" });
  const { events } = await trained("unchecked", tinyRecipe(brief), { engine });
  expect(events.filter(({ type }) => type === "warning")).toMatchObject([
    { key: "policies.shared.model", problem: "unlike it" },
  ]);
});

test("an engine failure leaves a run that can be resumed", async () => {
  const engine = hashEngineFor(tiny, {
    ...consistent,
    onCall(verb) {
      if (verb === "save") throw new TroupeError("no_memory", "no memory");
    },
  });
  await expect(trained("failed", tiny, { engine })).rejects.toMatchObject({ code: "no_memory" });
  expect((await trained("failed", tiny)).status).toBe("finished");
  expect(await recordsOf("failed")).toEqual(await recordsOf("whole"));
});

test("of roles with a policy each both are trained; a frozen one only by the warm start", async () => {
  const { weights, events } = await trained("two", tinyRecipe(twoPolicies()));
  expect(new Set([1, weights["first"], weights["second"]]).size).toBe(3);
  const steps = events.filter((event) => event.type === "step");
  for (const { metrics } of steps) expect(Object.keys(metrics.policies)).toEqual(["first", "second"]);
  const nothing = { steps: 0, tasksPerStep: 1, learningRate: 1 };
  const warm = await trained("warm", tinyRecipe({ ...twoPolicies(), train: nothing }));
  const frozen = await trained("frozen", tinyRecipe(twoPolicies(true)));
  expect(frozen.weights["first"]).toBe(warm.weights["first"]);
  expect(frozen.weights["second"]).not.toBe(warm.weights["second"]);
});

/** An untrained model with the words of boards of 4 × 4. */
const nano = { path: at("whole", "models", "nano") };

test("a frozen policy from the user's directory is not changed by the warm start either", async () => {
  const policies = { first: { model: nano }, second: { model: { preset: "nano" } } };
  const { weights, outcome } = await trained("own", tinyRecipe({ ...twoPolicies(true), policies }));
  expect(weights["first"]).toBe(1);
  expect(outcome).toMatchObject({
    result: {
      policies: { first: { directory: nano.path }, second: { directory: "checkpoints/step-7/second" } },
    },
  });
});

test("a model whose vocabulary lacks the environment's words is rejected before training", async () => {
  const policies = { shared: { model: nano } };
  const larger = tinyRecipe({ environment: { name: "plan-path", size: 5 }, policies });
  const calls: string[] = [];
  const engine = hashEngineFor(larger, { onCall: (verb) => calls.push(verb) });
  await expect(trained("larger", larger, { engine })).rejects.toThrow(
    /tokenizer of .*nano lacks \d+ of the \d+ words of plan-path: .*a5.*byte-level/,
  );
  expect(calls).toEqual([]);
  const few = hashEngineFor(larger, { vocabularySize: 9 });
  await expect(trained("few", tinyRecipe({ policies }), { engine: few })).rejects.toThrow(
    /nano has weights for 9 tokens, but its tokenizer assigns larger ids to \d+ of the \d+ words/,
  );
});

test("the seed determines everything except the evaluation's tasks", async () => {
  const again = await trained("again", tiny);
  const other = await trained("other seed", tinyRecipe({ seed: 2 }));
  expect(again.weights).toEqual(whole.weights);
  expect(other.weights).not.toEqual(whole.weights);
  expect(await recordsOf("again")).toEqual(await recordsOf("whole"));
});

test("the warm start alone ends with every team's evaluation", async () => {
  const recipe = supervisedRecipe(tiny.recipe);
  const { status, events } = await trained("sft", { ...tiny, recipe });
  expect(status).toBe("finished");
  const evaluations = events.flatMap((event) => (event.type === "evaluation" ? [event.evaluation] : []));
  expect(evaluations.map(({ team, moment, step }) => [team, moment, step])).toEqual([
    ["team", "after", 3],
    ["single", "after", 3],
  ]);
  expect(() => supervisedRecipe({ ...recipe, warmStart: undefined })).toThrow("has no warmStart");
});
