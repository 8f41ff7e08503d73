/** `train.maxLag: 1`: a batch is sampled while the one before it trains. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect, it, test } from "vitest";
import type { SampledSequence, SampleRequest } from "../engines/engine.ts";
import { temporaryFolder } from "../models/test-model.ts";
import type { RecipeInput } from "../recipes/schema.ts";
import { readEpisodes } from "../rollout/stored.ts";
import { collected } from "../rollout/testing/collected.ts";
import { readMetrics } from "../runs/read.ts";
import { readSamples, recording, saveSamples, type Samples } from "./prefetch.ts";
import type { Resolved } from "./state.ts";
import { tinyRecipe } from "./testing/tiny-recipe.ts";
import { hashEngineFor, trainings, type Trained } from "./testing/trainings.ts";

const { at, trained, stopped, inParts, recordsOf } = trainings();

const steps = 6;

function lagging(maxLag: number, changes: Partial<RecipeInput> = {}): Resolved {
  return tinyRecipe({
    warmStart: { steps: 1, demonstrationsPerStep: 4, learningRate: 0.003 },
    train: { steps, tasksPerStep: 3, learningRate: 0.001, minibatches: 2, maxLag },
    evaluation: { tasks: 2, every: 3 },
    record: { training: { perStep: "all" } },
    checkpoint: { every: 4, keep: 1 },
    ...changes,
  });
}

const resolved = lagging(1);
let whole: Trained;
beforeAll(async () => {
  whole = await trained("whole", resolved);
});

async function versionsOf(name: string): Promise<readonly (readonly number[])[]> {
  const training = await collected(readEpisodes(at(name), { from: "training" }));
  const byStep = Map.groupBy(training, ({ entry }) => entry.step);
  return [...byStep.values()].map((own) => [
    ...new Set(own.flatMap(({ episode }) => episode.actions.map((one) => one.policyVersion ?? -1))),
  ]);
}

test("every batch but the first is sampled one step behind, and weights correct for it", async () => {
  // One step of the warm start, then two minibatches per step.
  expect(await versionsOf("whole")).toEqual([[1], [1], [3], [5], [7], [9]]);
  const corrected = (await readMetrics(at("whole"))).map(
    ({ policies }) => policies["shared"]?.importance !== undefined,
  );
  expect(corrected).toEqual([false, false, true, true, true, true, true]);
  // Copies of the weights are removed.
  expect(Object.keys(whole.weights)).toEqual(["shared"]);
});

test("without a lag a recipe trains in turn, as it does with none written", async () => {
  const { maxLag: _, ...usual } = lagging(0).recipe.train;
  const zero = await trained("zero", lagging(0));
  expect(await versionsOf("zero")).toEqual([[1], [3], [5], [7], [9], [11]]);
  const absent = await trained("absent", lagging(0, { train: usual }));
  expect(zero.weights).toEqual(absent.weights);
  expect((await recordsOf("zero"))["metrics.jsonl"]).toEqual((await recordsOf("absent"))["metrics.jsonl"]);
});

test("stopped after any step and resumed, a run ends with the same weights and records", async () => {
  const parts = await inParts("parts", resolved);
  expect(parts).toHaveLength(1 + steps + 1);
  expect(parts.at(-1)?.weights).toEqual(whole.weights);
  expect(await recordsOf("parts")).toEqual(await recordsOf("whole"));
});

test.each([20, 70, 120, 145])(
  "broken off at call %i, a run resumes from its checkpoint and ends the same",
  async (last) => {
    const name = `broken off at ${last}`;
    const cancel = new AbortController();
    let calls = 0;
    const onCall = () => {
      calls += 1;
      if (calls === last) cancel.abort();
    };
    const engine = hashEngineFor(resolved, { onCall });
    const { status } = await trained(name, resolved, { engine, cancel: cancel.signal });
    expect(status).toBe("interrupted");
    expect(await trained(name, resolved)).toMatchObject({ status: "finished", weights: whole.weights });
    expect(await recordsOf(name)).toEqual(await recordsOf("whole"));
  },
);

test("a resumed run samples nothing of the batch that its checkpoint has", async () => {
  const once = lagging(1, { evaluation: { tasks: 2 } });
  await stopped("sampled", once, (event) => event.type === "step" && event.metrics.step === 1 + 5);
  const sampled: string[] = [];
  let isTrained = false;
  const onCall = (verb: string, policy: string) => {
    isTrained ||= verb === "optimStep";
    if (verb === "sample" && !isTrained) sampled.push(policy);
  };
  await trained("sampled", once, { engine: hashEngineFor(once, { onCall }) });
  expect(sampled).toEqual([]);
});

const request: SampleRequest = {
  policy: "p",
  prompt: Int32Array.of(1, 2),
  count: 1,
  maxTokens: 4,
  temperature: 1,
  seed: 7,
};
const others: readonly Partial<SampleRequest>[] = [
  { temperature: 0.5 },
  { topP: 0.9 },
  { topK: 3 },
  { stopTokens: [4] },
  { stopStrings: ["x"] },
  { prompt: Int32Array.of(1, 3) },
  { seed: 8 },
];

/** Every call samples another token. */
function counting(): (request: SampleRequest) => Promise<SampledSequence[]> {
  let calls = 0;
  return async () => [
    {
      tokens: Int32Array.of((calls += 1)),
      logprobs: Float32Array.of(-1),
      stopReason: "stop",
      policyVersion: 0,
    },
  ];
}

async function tokenOf(sampling: ReturnType<typeof recording>, asked: SampleRequest): Promise<number> {
  return (await sampling(asked))[0]?.tokens[0] ?? 0;
}

it("a request with another setting is not answered with the samples of one", async () => {
  const folder = temporaryFolder();
  const samples: Samples = new Map();
  const first = recording(samples, counting());
  for (const other of [{}, ...others]) await tokenOf(first, { ...request, ...other });
  const resumed = recording(await readSamples(folder, await saveSamples(folder, samples)), counting());
  const found = await Promise.all([{}, ...others].map((other) => tokenOf(resumed, { ...request, ...other })));
  expect(found).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
});

it.each([{}, { entropies: Float32Array.of(0.25, 1.5) }])(
  "samples are read as they were saved: %o",
  async (measured) => {
    const folder = temporaryFolder();
    const sampled: SampledSequence = {
      tokens: Int32Array.of(4, 5),
      logprobs: Float32Array.of(-0.1, -2),
      ...measured,
      stopReason: "length",
      policyVersion: 3,
    };
    const samples: Samples = new Map([["asked", [sampled]]]);
    expect(await readSamples(folder, await saveSamples(folder, samples))).toEqual(samples);
  },
);

it("the file does not depend on the order in which samples were answered", async () => {
  const contents = [others, others.toReversed()].map(async (asked) => {
    const [folder, samples] = [temporaryFolder(), new Map() as Samples];
    const sampling = recording(samples, async ({ seed }) => [
      { tokens: Int32Array.of(seed), logprobs: Float32Array.of(-1), stopReason: "stop", policyVersion: 0 },
    ]);
    for (const other of asked) await sampling({ ...request, ...other });
    return readFileSync(join(folder, await saveSamples(folder, samples)), "utf8");
  });
  const [one, other] = await Promise.all(contents);
  expect(one?.split("\n")).toHaveLength(others.length + 1);
  expect(other).toBe(one);
});
