import { writeFileSync } from "node:fs";
import fs from "node:fs/promises";
import { beforeAll, expect, test } from "vitest";
import type {
  SampledSequence,
  SampleRequest,
  SavedPolicy,
  SavePlace,
  StoredPolicy,
} from "../engines/engine.ts";
import type { RecipeInput } from "../recipes/schema.ts";
import { readEpisodes } from "../rollout/stored.ts";
import { readMetrics, readResult, readWatch } from "../runs/read.ts";
import type { WatchRecord } from "../runs/records.ts";
import type { Resolved } from "./state.ts";
import { HashEngine } from "./testing/hash-engine.ts";
import { tinyRecipe, wordsOf } from "./testing/tiny-recipe.ts";
import { trainings, type Trained } from "./testing/trainings.ts";

const { at, trained, stopped, inParts, recordsOf } = trainings({ isConsistent: true });

/** Fails instead of restoring for the n-th time, as a process that is killed there; notes what it does. */
class WatchedEngine extends HashEngine {
  #restores: number;
  readonly restored: string[] = [];
  /** All that were saved or sampled, by version. */
  readonly weightsOf = new Map<number, Set<number>>();

  constructor(resolved: Resolved, restores = Infinity) {
    super({ vocabularySize: wordsOf(resolved).length + 6, endToken: 2, isConsistent: true });
    this.#restores = restores;
  }

  override async restore(name: string, stored: StoredPolicy): Promise<void> {
    this.restored.push(stored.folder);
    await super.restore(name, stored);
    if (--this.#restores === 0) throw new Error("killed");
  }

  override checkpoint(name: string, place: SavePlace): Promise<SavedPolicy> {
    this.#note(name);
    return super.checkpoint(name, place);
  }

  override sample(request: SampleRequest): Promise<SampledSequence[]> {
    this.#note(request.policy);
    return super.sample(request);
  }

  #note(name: string): void {
    const { version, weights } = this.policies.get(name) ?? { version: -1, weights: -1 };
    this.weightsOf.set(version, (this.weightsOf.get(version) ?? new Set()).add(weights));
  }
}

/** Every action has more than 1 token on average: the limit is always crossed. */
const returning: Partial<RecipeInput> = {
  train: { steps: 9, tasksPerStep: 3, learningRate: 0.001, minibatches: 2 },
  // After step 5 the team is better than at the start of reinforcement, and never again.
  evaluation: { tasks: 12, every: 2, temperature: 1 },
  // Some returns are in a step with a checkpoint, others between two.
  checkpoint: { every: 3, keep: 1, best: "success" },
  watch: { window: 2, returns: 9, limits: { length: { above: 1, action: "return" } } },
  record: { training: { perStep: "all" } },
};
const resolved = tinyRecipe(returning);
const best = "checkpoints/step-5/state.json";
const unwatched = tinyRecipe({ ...returning, watch: "off" });
const engine = new WatchedEngine(resolved);
let whole: Trained;
let records: readonly WatchRecord[];
beforeAll(async () => {
  whole = await trained("whole", resolved, { engine });
  records = await readWatch(at("whole"));
});

test("a run returns to its best checkpoint with half the learning rate, and says so", async () => {
  // Two steps after each return, from step 3, where reinforcement starts; after the last step a return would be idle.
  expect(records.map(({ step, action, returned }) => [step, action, returned?.to])).toEqual([
    [5, "return", 5],
    [7, "return", 5],
    [9, "return", 5],
    [11, "return", 5],
  ]);
  expect(engine.restored).toEqual(Array(4).fill(at("whole", "checkpoints", "step-5")));
  expect(records.map(({ returned }) => returned?.learningRateFactor)).toEqual([0.5, 0.25, 0.125, 0.0625]);
  const rates = (await readMetrics(at("whole")))
    .slice(3)
    .map(({ policies }) => policies["shared"]?.learningRate);
  expect(rates).toEqual([1, 1, 0.5, 0.5, 0.25, 0.25, 0.125, 0.125, 0.0625].map((factor) => 0.001 * factor));
  expect(whole.events.flatMap((event) => (event.type === "watch" ? event.record : []))).toEqual(records);
  expect((await readResult(at("whole"))).watch).toEqual(records);
});

test("stopped after any step and resumed, a run that returns ends with the same weights and records", async () => {
  const parts = await inParts("parts", resolved);
  expect(parts.at(-1)?.weights).toEqual(whole.weights);
  const [interrupted, unstopped] = [await recordsOf("parts"), await recordsOf("whole")];
  // A stop saves step 5 before its evaluation, which the checkpoint counts.
  for (const one of [interrupted, unstopped])
    one[best] = (one[best] ?? "").replace(/"(evaluations|digest)": .*/g, "");
  expect(interrupted).toEqual(unstopped);
});

test("no two weights have the same version: those that sample a step, and those that a return leaves and saves", async () => {
  const versions = new Map<number, Set<number | null>>();
  for await (const { episode, entry } of readEpisodes(at("whole"), { from: "training" }))
    versions.set(entry.step, new Set(episode.actions.map(({ policyVersion }) => policyVersion)));
  const inOrder = [...versions.values()].flatMap((each) => [...each]);
  expect(inOrder.length).toBe(9);
  expect(new Set(inOrder).size).toBe(9);
  expect([...engine.weightsOf.values()].filter(({ size }) => size > 1)).toEqual([]);
});

test("stopped in a step that returns, a run that is no longer watched goes on as if it had not returned", async () => {
  const free = await trained("unwatched", unwatched);
  const part = await stopped(
    "freed",
    resolved,
    (event) => event.type === "watch" && event.record.action === "return",
  );
  expect(part.status).toBe("interrupted");
  expect((await trained("freed", unwatched)).weights).toEqual(free.weights);
  expect(await readWatch(at("freed"))).toEqual([]);
  expect((await readMetrics(at("freed"))).at(-1)?.policies["shared"]?.learningRate).toBe(0.001);
});

test("stops if the best checkpoint is damaged, and trains on if it is no longer watched", async () => {
  const state = at("damaged", best);
  const damaged = trained("damaged", resolved, {
    onEvent: (event) => event.type === "step" && event.metrics.step === 7 && writeFileSync(state, "{}"),
  });
  await expect(damaged).rejects.toThrow("and the checkpoint of step 5, the best, is damaged");
  expect((await trained("damaged", unwatched)).status).toBe("finished");
});

test.each([1, 3])("killed in the middle of return %i, a run ends the same", async (nth) => {
  const name = `killed in ${nth}`;
  const dying = trained(name, resolved, { engine: new WatchedEngine(resolved, nth) });
  await expect(dying).rejects.toThrow("killed");
  // The next one dies while it restores the checkpoint that it resumes from, and the last one does not.
  await trained(name, resolved, { engine: new WatchedEngine(resolved, 1) }).catch(() => null);
  expect((await trained(name, resolved)).weights).toEqual(whole.weights);
  expect(await recordsOf(name)).toEqual(await recordsOf("whole"));
});

test.each([
  ["the start of reinforcement", 1, 3],
  ["a checkpoint", 12, 5],
])("critics return with the policies, to %s", async (name, tasks, step) => {
  const evaluation = { tasks, every: 2, temperature: 1 };
  const ppo = tinyRecipe({ ...returning, algorithm: { name: "ppo" }, evaluation });
  const { weights } = await trained(name, ppo);
  expect((await readWatch(at(name))).map(({ returned }) => returned?.to)).toEqual(Array(4).fill(step));
  const killed = `killed in a return to ${name}`;
  await expect(trained(killed, ppo, { engine: new WatchedEngine(ppo, 1) })).rejects.toThrow("killed");
  expect((await trained(killed, ppo)).weights).toEqual(weights);
  expect(await recordsOf(killed)).toEqual(await recordsOf(name));
});

test("the number of returns is limited: then the run stops, with a checkpoint", async () => {
  const watch: RecipeInput["watch"] = {
    window: 2,
    returns: 1,
    limits: { length: { above: 1, action: "return" } },
  };
  const once = tinyRecipe({ ...returning, watch });
  await expect(trained("once", once)).rejects.toMatchObject({
    code: "watch",
    message: expect.stringMatching(
      /after step 4: length of scout is \S+ tokens .*above 1 \(watch\.limits\.length\).*watch\.returns allows \(1\)/,
    ),
  });
  expect((await readWatch(at("once"))).map(({ action }) => action)).toEqual(["return", "stop"]);
  // The same recipe stops again; without limits the run ends.
  await expect(trained("once", once)).rejects.toMatchObject({ code: "watch" });
  expect((await trained("once", unwatched)).status).toBe("finished");
  const { policies } = (await readMetrics(at("once"))).at(-1) ?? {};
  expect(policies?.["shared"]?.learningRate).toBe(0.0005);
});

const limited = (above: number): RecipeInput["watch"] => ({
  window: 2,
  limits: { length: { above, action: "stop" }, entropy: { below: 9 } },
});

test("a stop stays in the records when the run is resumed without limits, and is there once with them", async () => {
  const stopping = tinyRecipe({ watch: limited(1) });
  await expect(trained("run", stopping)).rejects.toMatchObject({ code: "watch" });
  const before = await readWatch(at("run"));
  expect(before.map(({ step, measure, action }) => [step, measure, action])).toEqual([
    [5, "entropy", "warn"],
    [5, "entropy", "warn"],
    [5, "length", "stop"],
  ]);
  await expect(trained("run", stopping)).rejects.toMatchObject({ code: "watch" });
  expect(await readWatch(at("run"))).toEqual(before);
  await fs.cp(at("run"), at("wider"), { recursive: true });

  for (const [name, watch] of [["run", "off"] as const, ["wider", limited(999)] as const]) {
    expect((await trained(name, tinyRecipe({ watch }))).status).toBe("finished");
    expect(await readWatch(at(name))).toEqual(before);
    expect((await readResult(at(name))).watch).toEqual(before);
  }
});

const withoutInfluence = (key: string, value: unknown) => (key.startsWith("influence") ? undefined : value);

test("a warning is given when a limit is crossed, not while it stays crossed; it and measuring influence change nothing", async () => {
  const free = await trained("free", tinyRecipe());
  const watch: RecipeInput["watch"] = { window: 2, limits: { length: { above: 1 }, entropy: { below: 9 } } };
  const watched = await trained("watched", tinyRecipe({ watch }));
  expect((await readWatch(at("watched"))).map(({ step, measure, of }) => [step, measure, of])).toEqual([
    [5, "entropy", "scout"],
    [5, "entropy", "planner"],
    [5, "length", "scout"],
    [5, "length", "planner"],
  ]);
  expect(watched.weights).toEqual(free.weights);
  const { "watch.jsonl": _, "recipe.yaml": __, "result.json": ___, ...rest } = await recordsOf("watched");
  expect(await recordsOf("free")).toMatchObject(rest);

  const probed = await trained("probed", tinyRecipe({ watch: { influence: { every: 2 } } }));
  expect(probed.weights).toEqual(free.weights);
  const [before, after] = [await readMetrics(at("free")), await readMetrics(at("probed"))];
  const influence = after.map(({ rollout }) => rollout?.roles["scout"]?.influence);
  expect(influence.map((one) => one !== undefined)).toEqual([false, false, false, true, false, true, false]);
  expect(JSON.parse(JSON.stringify(after, withoutInfluence))).toEqual(before);
});
