import fs from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { TroupeError } from "../errors.ts";
import { readEpisodes } from "../rollout/stored.ts";
import { checkpointSteps } from "../runs/checkpoints.ts";
import { readEpisodeIndex } from "../runs/read-episodes.ts";
import { readData, readEvaluations, readMetrics, readTimings } from "../runs/read.ts";
import type { RecipeInput } from "../recipes/schema.ts";
import type { Evaluation } from "../runs/records.ts";
import type { TrainEvent } from "./events.ts";
import type { Resolved, TrainOptions } from "./state.ts";
import { supervisedRecipe } from "../recipes/supervised.ts";
import { HashEngine } from "./testing/hash-engine.ts";
import type { HashEngineOptions } from "./testing/hash-engine.ts";
import { recordsOf as recordsIn } from "./testing/records-of.ts";
import { tinyRecipe, wordsOf } from "./testing/tiny-recipe.ts";
import { train } from "./run.ts";

let root = "";
beforeEach(async () => {
  root = await fs.mkdtemp(path.join(os.tmpdir(), "troupe-train-"));
});
afterEach(() => fs.rm(root, { recursive: true }));

const twoPolicies = (frozen: { scout?: boolean; planner?: boolean } = {}): Partial<RecipeInput> => ({
  team: {
    roles: {
      scout: { policy: "first", prompt: "", maxTokens: 8, frozen: frozen.scout ?? false },
      planner: { policy: "second", prompt: "", maxTokens: 8, frozen: frozen.planner ?? false },
    },
    phases: [["scout"], ["planner"]],
    turns: 2,
  },
  policies: { first: { model: { preset: "nano" } }, second: { model: { preset: "nano" } } },
  evaluation: { tasks: 2 },
});

function hashEngineOptions({ environment }: Resolved): HashEngineOptions {
  return { vocabularySize: wordsOf({ environment }).length + 6, endToken: 2, isConsistent: true };
}

function hashEngine(resolved: Resolved, onCall?: HashEngineOptions["onCall"]): HashEngine {
  return new HashEngine({ ...hashEngineOptions(resolved), ...(onCall === undefined ? {} : { onCall }) });
}

interface Trained {
  readonly events: TrainEvent[];
  readonly weights: Record<string, number>;
  readonly status: string;
}

async function trainOnce(
  name: string,
  resolved: Resolved,
  options: Partial<TrainOptions> = {},
): Promise<Trained> {
  const events: TrainEvent[] = [];
  const engine = (options.engine as HashEngine | undefined) ?? hashEngine(resolved);
  const onEvent = (event: TrainEvent) => {
    events.push(event);
    options.onEvent?.(event);
  };
  const outcome = await train({ ...resolved, directory: path.join(root, name), ...options, engine, onEvent });
  const weights = Object.fromEntries(
    [...engine.policies].map(([policy, { weights: value }]) => [policy, value]),
  );
  return { events, weights, status: outcome.status };
}

const recordsOf = (name: string) => recordsIn(path.join(root, name));

/** Warnings about the environment itself. */
function warned({ events }: Trained): string[] {
  return events.flatMap((event) =>
    event.type === "warning" && event.key === "environment" ? [event.problem] : [],
  );
}

test("rewards outside [0, 1] are reported once", async () => {
  const resolved = tinyRecipe();
  const { environment } = resolved;
  const large = {
    ...environment,
    step: async (...given: Parameters<typeof environment.step>) => {
      const { rewards, ...rest } = await environment.step(...given);
      const tenfold = Object.entries(rewards).map(([seat, reward]) => [seat, { ...reward, team: 10 }]);
      return { ...rest, rewards: Object.fromEntries(tenfold) as typeof rewards };
    },
  };
  expect(warned(await trainOnce("usual", resolved))).toEqual([]);
  expect(warned(await trainOnce("large", { ...resolved, environment: large }))).toEqual([
    "plan-path gave the team reward 10 to scout in train/1/0; rewards and scores belong in [0, 1]",
  ]);
});

/** A run whose tasks are from a data set, with the given digest of its contents. */
function onData(digest: string): Resolved {
  const resolved = tinyRecipe();
  const origin = { dataset: "owner/set", config: "default", commit: "a".repeat(40), files: {} };
  const tasks = { ...origin, slices: "train", problems: 9, malformed: 0, failing: 0, excluded: 0, digest };
  return { ...resolved, environment: { ...resolved.environment, data: { train: tasks } } };
}

test("the data of the tasks is recorded, and a change in a resumed run is logged", async () => {
  const directory = path.join(root, "run");
  const stop = new AbortController();
  const onEvent = ({ type }: TrainEvent) => void (type === "step" && stop.abort());
  await trainOnce("run", onData("one"), { stop: stop.signal, onEvent });
  const [first, ...none] = await readData(directory);
  expect(first).toMatchObject({ step: 0, data: { train: { commit: "a".repeat(40), digest: "one" } } });
  expect(none).toEqual([]);
  const { events } = await trainOnce("run", onData("two"));
  const logged = events.filter((event) => event.type === "warning");
  expect(logged.map(({ problem }) => problem).filter((text) => text.startsWith("the tasks"))).toEqual([
    "the tasks of train have changed since the run started " +
      "(commit aaaaaaaaaaaa, 9 problems, content hash one, now commit aaaaaaaaaaaa, 9 problems, content hash two)",
  ]);
  const recorded = (await readData(directory)).map(({ step, data }) => [step, data["train"]?.digest]);
  expect(recorded).toEqual([
    [0, "one"],
    [1, "two"],
  ]);
});

test("a run from warm start to table", async () => {
  const { events, status } = await trainOnce("run", tinyRecipe());
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
  const directory = path.join(root, "run");
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
  expect(await fs.readdir(path.join(directory, weights))).toEqual(["weights"]);
});

test("a finished run is shown again, not repeated", async () => {
  await trainOnce("run", tinyRecipe());
  const before = await recordsOf("run");
  const { events } = await trainOnce("run", tinyRecipe());
  expect(events).toMatchObject([{ type: "finished", alreadyDone: true }]);
  expect(await recordsOf("run")).toEqual(before);
});

async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const item of items) found.push(item);
  return found;
}

test("recorded episodes hold exact tokens, both rewards and the credit of every action, kept or not", async () => {
  await trainOnce("run", tinyRecipe());
  const stored = await collect(readEpisodes(path.join(root, "run"), { step: 4, from: "training" }));
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
  await trainOnce("run", tinyRecipe({ record }));
  const run = path.join(root, "run");
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
  await trainOnce("none", tinyRecipe({ record: nothing }));
  expect(await readEpisodeIndex(path.join(root, "none"))).toEqual([]);
});

test("stopped after any step and resumed, a run ends with the same weights and records", async () => {
  const resolved = tinyRecipe({ checkpoint: { every: 2, keep: 1 } });
  const whole = await trainOnce("whole", resolved);
  const stops: unknown[] = [];
  let part: Trained;
  do {
    const stop = new AbortController();
    const onEvent = (event: TrainEvent) => event.type === "step" && stop.abort();
    part = await trainOnce("parts", resolved, { stop: stop.signal, onEvent });
    stops.push(part.events.at(-1));
  } while (part.status === "interrupted");
  // The stop after the last step only cancels its evaluation.
  const steps = [1, 2, 3, 4, 5, 6, 7];
  const interrupted = steps.map((step) => ({ type: "interrupted", step, checkpoint: step }));
  expect(stops).toMatchObject([...interrupted, { type: "finished" }]);
  expect(part.weights).toEqual(whole.weights);
  expect(await recordsOf("parts")).toEqual(await recordsOf("whole"));
});

test("the checkpoint of the best evaluation stays, also if the run is stopped after each step", async () => {
  const resolved = tinyRecipe({
    checkpoint: { every: 2, keep: 1, best: "success" },
    evaluation: { tasks: 7, every: 1 },
  });
  const whole = await trainOnce("whole", resolved);
  const own = (await readEvaluations(path.join(root, "whole"))).filter(({ team }) => team === "team");
  const highest = Math.max(...own.map(({ success }) => success));
  const { step = -1, success } = own.find((one) => one.success === highest) ?? {};
  const kept = async (run: string) => checkpointSteps(path.join(root, run, "checkpoints"));
  expect([3, 4, 5, 6]).toContain(step); // else nothing would be kept that is not the newest
  expect(await kept("whole")).toEqual([step, 7]);
  expect(whole.events.at(-1)).toMatchObject({ result: { best: { step, success } } });
  let part: Trained;
  do {
    const stop = new AbortController();
    const onEvent = (event: TrainEvent) => event.type === "step" && stop.abort();
    part = await trainOnce("parts", resolved, { stop: stop.signal, onEvent });
  } while (part.status === "interrupted");
  expect(await kept("parts")).toEqual(await kept("whole"));
  expect(part.weights).toEqual(whole.weights);
});

test("limits on playing episodes change no result, and may change when a run is resumed", async () => {
  const { weights } = await trainOnce("free", tinyRecipe());
  const stop = new AbortController();
  const onEvent = (event: TrainEvent) => event.type === "step" && event.metrics.step === 5 && stop.abort();
  const options = { stop: stop.signal, onEvent };
  await trainOnce("limited", tinyRecipe({ rollout: { concurrency: 1 } }), options);
  const resumed = await trainOnce("limited", tinyRecipe({ rollout: { concurrency: 2, timeoutSeconds: 60 } }));
  expect(resumed.status).toBe("finished");
  expect(resumed.weights).toEqual(weights);
  const { "recipe.yaml": _, ...limited } = await recordsOf("limited");
  expect(await recordsOf("free")).toMatchObject(limited);
});

test("stopped during an evaluation, only the evaluation is repeated", async () => {
  await trainOnce("whole", tinyRecipe());
  const stop = new AbortController();
  const onEvent = (event: TrainEvent) =>
    event.type === "evaluation-progress" && event.team === "single" && stop.abort();
  const { status } = await trainOnce("parts", tinyRecipe(), { stop: stop.signal, onEvent });
  expect(status).toBe("interrupted");
  expect((await readEvaluations(path.join(root, "parts"))).map(({ team }) => team)).toEqual(["team"]);
  const { events } = await trainOnce("parts", tinyRecipe());
  expect(events.find((event) => event.type === "evaluation")?.evaluation.team).toBe("single");
  expect(await recordsOf("parts")).toEqual(await recordsOf("whole"));
});

test.each(["sample", "forwardBackward", "optimStep"] as const)(
  "cancelled during a %s, a run resumes from its last checkpoint and ends the same",
  async (verb) => {
    await trainOnce("whole", tinyRecipe());
    const cancel = new AbortController();
    let calls = 0;
    const engine = hashEngine(tinyRecipe(), (called) => {
      calls += called === verb ? 1 : 0;
      if (calls === 6) cancel.abort();
    });
    const { status, events } = await trainOnce("parts", tinyRecipe(), { engine, cancel: cancel.signal });
    expect(status).toBe("interrupted");
    expect(events.at(-1)?.type).toBe("interrupted");
    expect((await trainOnce("parts", tinyRecipe())).status).toBe("finished");
    expect(await recordsOf("parts")).toEqual(await recordsOf("whole"));
  },
);

function engineWith(threads: string, build: string): HashEngine {
  const arithmetic = { kernels: "scalar", threads, build };
  return new HashEngine({ ...hashEngineOptions(tinyRecipe()), arithmetic });
}

test("a run resumed on another engine logs and records the change, and is otherwise the same", async () => {
  await trainOnce("whole", tinyRecipe());
  const stop = new AbortController();
  const onEvent = (event: TrainEvent) => event.type === "checkpoint" && stop.abort();
  await trainOnce("parts", tinyRecipe(), { stop: stop.signal, onEvent, engine: engineWith("1", "old") });
  const { events, status } = await trainOnce("parts", tinyRecipe(), { engine: engineWith("2", "new") });
  expect(status).toBe("finished");
  const [step, changes] = [
    2,
    [
      { name: "threads", before: "1", now: "2" },
      { name: "build", before: "old", now: "new" },
    ],
  ];
  expect(events.filter(({ type }) => type === "engine-changed")).toEqual([
    { type: "engine-changed", step, changes },
  ]);
  const { "engines.jsonl": engines, ...parts } = await recordsOf("parts");
  const { "engines.jsonl": _, ...whole } = await recordsOf("whole");
  expect(parts).toEqual(whole);
  expect(
    (engines ?? "")
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as unknown),
  ).toMatchObject([
    { step: 0, arithmetic: { threads: "1", build: "old" } },
    { step: 2, arithmetic: { threads: "2", build: "new" } },
  ]);
});

test("warns only of a recipe that sums action rewards, before training", async () => {
  const algorithm = { name: "magrpo", samples: 2, reward: "action", handOver: "all" };
  const { events } = await trainOnce("summed", tinyRecipe({ algorithm }));
  expect(events.slice(0, 2).map(({ type }) => type)).toEqual(["run-started", "warning"]);
  expect(events.filter(({ type }) => type === "warning")).toHaveLength(1);
  const other = await trainOnce("changes", tinyRecipe({ algorithm: { name: "magrpo", samples: 2 } }));
  expect(other.events.filter(({ type }) => type === "warning")).toEqual([]);
});

test("warns of an engine's tokenizer that could not be compared", async () => {
  const engine = hashEngine(tinyRecipe());
  const create = engine.createPolicy.bind(engine);
  engine.createPolicy = async (options) => ({ ...(await create(options)), uncheckedTokenizer: "unlike it" });
  const { events } = await trainOnce("unchecked", tinyRecipe(), { engine });
  expect(events.filter(({ type }) => type === "warning")).toMatchObject([
    { key: "policies.shared.model", problem: "unlike it" },
  ]);
});

test("an engine failure leaves a run that can be resumed", async () => {
  await trainOnce("whole", tinyRecipe());
  const engine = hashEngine(tinyRecipe(), (verb) => {
    if (verb === "save") throw new TroupeError("no_memory", "no memory");
  });
  await expect(trainOnce("parts", tinyRecipe(), { engine })).rejects.toMatchObject({ code: "no_memory" });
  expect((await trainOnce("parts", tinyRecipe())).status).toBe("finished");
  expect(await recordsOf("parts")).toEqual(await recordsOf("whole"));
});

test("roles with a policy each: both are trained, without affecting each other", async () => {
  const { weights, events } = await trainOnce("run", tinyRecipe(twoPolicies()));
  expect(new Set([1, weights["first"], weights["second"]]).size).toBe(3);
  const steps = events.filter((event) => event.type === "step");
  for (const { metrics } of steps) expect(Object.keys(metrics.policies)).toEqual(["first", "second"]);
});

test("a frozen role's policy is unchanged after the warm start; the others are trained", async () => {
  const all = await trainOnce(
    "warm",
    tinyRecipe({ ...twoPolicies(), train: { steps: 0, tasksPerStep: 1, learningRate: 1 } }),
  );
  const frozen = await trainOnce("run", tinyRecipe(twoPolicies({ scout: true })));
  expect(frozen.weights["first"]).toBe(all.weights["first"]);
  expect(frozen.weights["second"]).not.toBe(all.weights["second"]);
});

test("a frozen policy from the user's directory is not changed by the warm start either", async () => {
  await trainOnce("base", tinyRecipe());
  const model = { path: path.join(root, "base", "models", "nano") };
  const recipe = tinyRecipe({
    ...twoPolicies({ scout: true }),
    policies: { first: { model }, second: { model: { preset: "nano" } } },
  });
  const { weights, events } = await trainOnce("run", recipe);
  expect(weights["first"]).toBe(1);
  const finished = events.at(-1);
  if (finished?.type !== "finished") throw new Error(`ended with ${finished?.type}`);
  expect(finished.result.policies["first"]?.directory).toBe(model.path);
  expect(finished.result.policies["second"]?.directory).toBe("checkpoints/step-7/second");
});

test("a model whose vocabulary lacks the environment's words is rejected before training", async () => {
  await trainOnce("small", tinyRecipe());
  const model = { path: path.join(root, "small", "models", "nano") };
  const larger = tinyRecipe({ environment: { name: "plan-path", size: 5 }, policies: { shared: { model } } });
  const calls: string[] = [];
  const engine = hashEngine(larger, (verb) => calls.push(verb));
  await expect(trainOnce("run", larger, { engine })).rejects.toThrow(
    /tokenizer of .*nano lacks \d+ of the \d+ words of plan-path: .*a5.*byte-level/,
  );
  expect(calls).toEqual([]);
  const few = new HashEngine({ vocabularySize: 9, endToken: 2 });
  await expect(
    trainOnce("few", tinyRecipe({ policies: { shared: { model } } }), { engine: few }),
  ).rejects.toThrow(
    /nano has weights for 9 tokens, but its tokenizer assigns larger ids to \d+ of the \d+ words of plan-path/,
  );
});

test("the seed determines everything except the evaluation's tasks", async () => {
  const first = await trainOnce("a", tinyRecipe());
  const again = await trainOnce("b", tinyRecipe());
  const other = await trainOnce("c", tinyRecipe({ seed: 2 }));
  expect(again.weights).toEqual(first.weights);
  expect(other.weights).not.toEqual(first.weights);
  expect(await recordsOf("a")).toEqual(await recordsOf("b"));
});

test("the warm start alone ends with every team's evaluation", async () => {
  const events: TrainEvent[] = [];
  const resolved = tinyRecipe();
  const onEvent = (event: TrainEvent) => events.push(event);
  const recipe = supervisedRecipe(resolved.recipe);
  const engine = hashEngine(resolved);
  const outcome = await train({ ...resolved, recipe, directory: path.join(root, "sft"), engine, onEvent });
  expect(outcome.status).toBe("finished");
  const evaluations = events.flatMap((event) => (event.type === "evaluation" ? [event.evaluation] : []));
  expect(evaluations.map(({ team, moment, step }) => [team, moment, step])).toEqual([
    ["team", "after", 3],
    ["single", "after", 3],
  ]);
  expect(() => supervisedRecipe({ ...recipe, warmStart: undefined })).toThrow("has no warmStart");
});
