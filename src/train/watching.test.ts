import { writeFileSync } from "node:fs";
import fs from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import type {
  SampledSequence,
  SampleRequest,
  SavedPolicy,
  SavePlace,
  StoredPolicy,
} from "../engines/engine.ts";
import type { RecipeInput } from "../recipes/schema.ts";
import { readEpisodeIndex } from "../runs/read-episodes.ts";
import { readStored } from "../rollout/stored.ts";
import { readMetrics, readResult, readWatch } from "../runs/read.ts";
import type { TrainEvent } from "./events.ts";
import { train } from "./run.ts";
import type { Resolved, TrainOptions } from "./state.ts";
import { HashEngine } from "./testing/hash-engine.ts";
import { recordsOf } from "./testing/records-of.ts";
import { tinyRecipe, wordsOf } from "./testing/tiny-recipe.ts";

let root = "";
beforeEach(async () => {
  root = await fs.mkdtemp(path.join(os.tmpdir(), "troupe-watch-"));
});
afterEach(() => fs.rm(root, { recursive: true }));

const at = (name: string) => path.join(root, name);

/** Fails instead of restoring for the n-th time, as a process that is killed there. */
class DyingEngine extends HashEngine {
  #restores: number;

  constructor(resolved: Resolved, restores = Infinity) {
    super({ vocabularySize: wordsOf(resolved).length + 6, endToken: 2, isConsistent: true });
    this.#restores = restores;
  }

  override async restore(name: string, stored: StoredPolicy): Promise<void> {
    await super.restore(name, stored);
    if (--this.#restores === 0) throw new Error("killed");
  }
}

async function trainOnce(name: string, resolved: Resolved, options: Partial<TrainOptions> = {}) {
  const engine = (options.engine as HashEngine | undefined) ?? new DyingEngine(resolved);
  const outcome = await train({ ...resolved, directory: at(name), engine, ...options });
  return { status: outcome.status, weights: engine.policies.get("shared")?.weights };
}

/** Every action has more than 1 token on average: the limit is always crossed. */
const returning: Partial<RecipeInput> = {
  train: { steps: 9, tasksPerStep: 3, learningRate: 0.001, minibatches: 2 },
  // After step 5 the team is better than at the start of reinforcement, and never again.
  evaluation: { tasks: 60, every: 2, temperature: 1 },
  checkpoint: { every: 2, keep: 1, best: "success" },
  watch: { window: 2, returns: 9, limits: { length: { above: 1, action: "return" } } },
};

test("a run returns to its best checkpoint with half the learning rate, and says so", async () => {
  const resolved = tinyRecipe(returning);
  const events: TrainEvent[] = [];
  await trainOnce("run", resolved, { onEvent: (event) => void events.push(event) });
  const records = await readWatch(at("run"));
  // Two steps after each return, from step 3, where reinforcement starts; after the last step a return would be idle.
  expect(records.map(({ step, action }) => [step, action])).toEqual([
    [5, "return"],
    [7, "return"],
    [9, "return"],
    [11, "return"],
  ]);
  expect(records.map(({ returned }) => returned?.learningRateFactor)).toEqual([0.5, 0.25, 0.125, 0.0625]);
  const rates = (await readMetrics(at("run")))
    .slice(3)
    .map(({ policies }) => policies["shared"]?.learningRate);
  expect(rates).toEqual([1, 1, 0.5, 0.5, 0.25, 0.25, 0.125, 0.125, 0.0625].map((factor) => 0.001 * factor));
  expect(events.flatMap((event) => (event.type === "watch" ? event.record : []))).toEqual(records);
  expect((await readResult(at("run"))).watch).toEqual(records);
});

test("the weights after a return are those of the checkpoint of the best evaluation", async () => {
  const resolved = tinyRecipe(returning);
  const restored: string[] = [];
  class Watching extends DyingEngine {
    override async restore(name: string, stored: StoredPolicy): Promise<void> {
      restored.push(path.relative(at("run"), stored.folder));
      await super.restore(name, stored);
    }
  }
  await trainOnce("run", resolved, { engine: new Watching(resolved) });
  const best = (await readWatch(at("run"))).map(({ returned }) => returned?.to);
  expect(best).toEqual([5, 5, 5, 5]);
  expect(restored).toEqual(best.map((step) => (step === 3 ? "beginning" : `checkpoints/step-${step}`)));
});

test("stopped after any step and resumed, a run that returns ends with the same weights and records", async () => {
  const resolved = tinyRecipe(returning);
  const whole = await trainOnce("whole", resolved);
  let part: Awaited<ReturnType<typeof trainOnce>>;
  do {
    const stop = new AbortController();
    const onEvent = (event: TrainEvent) => event.type === "step" && stop.abort();
    part = await trainOnce("parts", resolved, { stop: stop.signal, onEvent });
  } while (part.status === "interrupted");
  expect(part.weights).toBe(whole.weights);
  expect(await recordsOf(at("parts"))).toEqual(await recordsOf(at("whole")));
});

test("no two weights of a policy have the same version, although a return restores earlier ones", async () => {
  const resolved = tinyRecipe({ ...returning, record: { training: { perStep: "all" } } });
  await trainOnce("run", resolved);
  const versions = new Map<number, Set<number | null>>();
  const entries = await readEpisodeIndex(at("run"));
  const trained = entries.filter(({ evaluation }) => evaluation === undefined);
  for await (const { episode, entry } of readStored(at("run"), trained))
    versions.set(entry.step, new Set(episode.actions.map(({ policyVersion }) => policyVersion)));
  const inOrder = [...versions.values()].flatMap((each) => [...each]);
  expect(inOrder.length).toBe(9);
  expect(new Set(inOrder).size).toBe(9);
});

test("nor do the weights that a return leaves, which are saved and have sampled nothing", async () => {
  const resolved = tinyRecipe(returning);
  const weightsOf = new Map<number, Set<number>>();
  class Saving extends DyingEngine {
    override async checkpoint(name: string, place: SavePlace): Promise<SavedPolicy> {
      const { version, weights } = this.policies.get(name) ?? { version: -1, weights: -1 };
      weightsOf.set(version, (weightsOf.get(version) ?? new Set()).add(weights));
      return super.checkpoint(name, place);
    }
    override async sample(request: SampleRequest): Promise<SampledSequence[]> {
      const { version, weights } = this.policies.get(request.policy) ?? { version: -1, weights: -1 };
      weightsOf.set(version, (weightsOf.get(version) ?? new Set()).add(weights));
      return super.sample(request);
    }
  }
  await trainOnce("run", resolved, { engine: new Saving(resolved) });
  expect((await readWatch(at("run"))).length).toBeGreaterThan(2);
  expect([...weightsOf.values()].filter(({ size }) => size > 1)).toEqual([]);
});

test("stopped in a step that returns, a run that is no longer watched goes on as if it had not returned", async () => {
  const unwatched = tinyRecipe({ ...returning, watch: "off" });
  const whole = await trainOnce("whole", unwatched);
  const stop = new AbortController();
  const onEvent = (event: TrainEvent) =>
    event.type === "watch" && event.record.action === "return" && stop.abort();
  const part = await trainOnce("parts", tinyRecipe(returning), { stop: stop.signal, onEvent });
  expect(part.status).toBe("interrupted");
  expect((await trainOnce("parts", unwatched)).weights).toBe(whole.weights);
  expect(await readWatch(at("parts"))).toEqual([]);
  expect((await readMetrics(at("parts"))).at(-1)?.policies["shared"]?.learningRate).toBe(0.001);
});

test("stops if the best checkpoint is damaged, and trains on if it is no longer watched", async () => {
  const resolved = tinyRecipe(returning);
  await trainOnce("whole", resolved);
  const records = await readWatch(at("whole"));
  // One that returns to an earlier checkpoint.
  const { step = 0, returned } =
    records.find((one) => (one.returned?.to ?? 0) > 3 && (one.returned?.to ?? 0) < one.step) ?? {};
  const state = at(`run/checkpoints/step-${returned?.to}/state.json`);
  const onEvent = (event: TrainEvent) =>
    event.type === "step" && event.metrics.step === step && writeFileSync(state, "{}");
  await expect(trainOnce("run", resolved, { onEvent })).rejects.toThrow(
    `and the checkpoint of step ${returned?.to}, the best, is damaged`,
  );
  const resumed = await trainOnce("run", tinyRecipe({ ...returning, watch: "off" }));
  expect(resumed.status).toBe("finished");
});

test.each([1, 2, 3, 4])("killed in the middle of return %i, a run ends the same", async (nth) => {
  const resolved = tinyRecipe({ ...returning, checkpoint: { every: 3, keep: 1, best: "success" } });
  const whole = await trainOnce("whole", resolved);
  const dying = trainOnce("parts", resolved, { engine: new DyingEngine(resolved, nth) });
  await expect(dying).rejects.toThrow("killed");
  // The next one dies while it restores the checkpoint that it resumes from, and the last one does not.
  await trainOnce("parts", resolved, { engine: new DyingEngine(resolved, 1) }).catch(() => null);
  expect((await trainOnce("parts", resolved)).weights).toBe(whole.weights);
  expect(await recordsOf(at("parts"))).toEqual(await recordsOf(at("whole")));
});

test("critics return with the policies, also to the start of reinforcement", async () => {
  const resolved = tinyRecipe({ ...returning, algorithm: { name: "ppo" } });
  const whole = await trainOnce("whole", resolved);
  // To the start of reinforcement, which is step 3, and later to the best step.
  const returns = (await readWatch(at("whole"))).map(({ returned }) => returned?.to);
  expect(returns).toEqual([3, 7, 7, 7]);
  await expect(
    trainOnce("parts", resolved, { engine: new DyingEngine(resolved, 1) }).catch(
      (error: Error) => error.message,
    ),
  ).resolves.toBe("killed");
  expect((await trainOnce("parts", resolved)).weights).toBe(whole.weights);
  expect(await recordsOf(at("parts"))).toEqual(await recordsOf(at("whole")));
});

test("the number of returns is limited: then the run stops, with a checkpoint", async () => {
  const watch: RecipeInput["watch"] = {
    window: 2,
    returns: 1,
    limits: { length: { above: 1, action: "return" } },
  };
  const resolved = tinyRecipe({ ...returning, watch });
  await expect(trainOnce("run", resolved)).rejects.toMatchObject({
    code: "watch",
    message: expect.stringMatching(
      /after step 4: length of scout is \S+ tokens per action, above 1 \(watch.limits.length\), and it has already returned as often as watch.returns allows \(1\)/,
    ),
  });
  expect((await readWatch(at("run"))).map(({ action }) => action)).toEqual(["return", "stop"]);
  // The same recipe stops again; without limits the run ends.
  await expect(trainOnce("run", resolved)).rejects.toMatchObject({ code: "watch" });
  const resumed = await trainOnce("run", tinyRecipe({ ...returning, watch: "off" }));
  expect(resumed.status).toBe("finished");
  const { policies } = (await readMetrics(at("run"))).at(-1) ?? {};
  expect(policies?.["shared"]?.learningRate).toBe(0.0005);
});

const limited = (above: number): RecipeInput["watch"] => ({
  window: 2,
  limits: { length: { above, action: "stop" }, entropy: { below: 9 } },
});

test("a stop stays in the records when the run is resumed without limits, and is there once with them", async () => {
  const stopping = tinyRecipe({ watch: limited(1) });
  await expect(trainOnce("run", stopping)).rejects.toMatchObject({ code: "watch" });
  const stopped = await readWatch(at("run"));
  expect(stopped.map(({ step, measure, action }) => [step, measure, action])).toEqual([
    [5, "entropy", "warn"],
    [5, "entropy", "warn"],
    [5, "length", "stop"],
  ]);
  await expect(trainOnce("run", stopping)).rejects.toMatchObject({ code: "watch" });
  expect(await readWatch(at("run"))).toEqual(stopped);
  await fs.cp(at("run"), at("wider"), { recursive: true });

  for (const [name, watch] of [["run", "off"] as const, ["wider", limited(999)] as const]) {
    expect((await trainOnce(name, tinyRecipe({ watch }))).status).toBe("finished");
    expect(await readWatch(at(name))).toEqual(stopped);
    expect((await readResult(at(name))).watch).toEqual(stopped);
  }
});

test("a warning is given when a limit is crossed, not while it stays crossed, and changes nothing", async () => {
  const free = await trainOnce("free", tinyRecipe());
  const watch: RecipeInput["watch"] = { window: 2, limits: { length: { above: 1 }, entropy: { below: 9 } } };
  const watched = await trainOnce("watched", tinyRecipe({ watch }));
  expect((await readWatch(at("watched"))).map(({ step, measure, of }) => [step, measure, of])).toEqual([
    [5, "entropy", "scout"],
    [5, "entropy", "planner"],
    [5, "length", "scout"],
    [5, "length", "planner"],
  ]);
  expect(watched.weights).toBe(free.weights);
  const { "watch.jsonl": _, "recipe.yaml": __, "result.json": ___, ...rest } = await recordsOf(at("watched"));
  expect(await recordsOf(at("free"))).toMatchObject(rest);
});

test("measuring influence changes no weights and no other record", async () => {
  const free = await trainOnce("free", tinyRecipe());
  const probed = await trainOnce("probed", tinyRecipe({ watch: { influence: { every: 2 } } }));
  expect(probed.weights).toBe(free.weights);
  const [before, after] = [await readMetrics(at("free")), await readMetrics(at("probed"))];
  const influence = after.map(({ rollout }) => rollout?.roles["scout"]?.influence);
  expect(influence.map((one) => one !== undefined)).toEqual([false, false, false, true, false, true, false]);
  const without = after.map(
    (one) =>
      JSON.parse(
        JSON.stringify(one, (key, value: unknown) => (key.startsWith("influence") ? undefined : value)),
      ) as unknown,
  );
  expect(without).toEqual(before);
});
