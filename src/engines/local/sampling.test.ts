import { beforeAll, describe, expect, test } from "vitest";
import type { SampledSequence, SampleRequest } from "../engine.ts";
import { makeModel, temporaryFolder, tinyPreset, vocabularySize, words } from "../../models/test-model.ts";
import type { LocalEngine, LocalEngineOptions } from "./local-engine.ts";
import { adam, ids, request, someDatum, testEngine } from "./test-engine.ts";

const engine = testEngine();

beforeAll(async () => {
  await engine.createPolicy({ name: "p", model: await makeModel(temporaryFolder(), "model") });
});

function sum(values: Iterable<number> | undefined): number {
  return [...(values ?? [])].reduce((total, value) => total + value, 0);
}

async function one(more: Partial<SampleRequest> = {}): Promise<SampledSequence> {
  return (await engine.sample(request(more)))[0] as SampledSequence;
}

describe("sampling", () => {
  test("gives the requested sequences, within the vocabulary", async () => {
    const sequences = await engine.sample(request({ count: 5 }));
    expect(sequences).toHaveLength(5);
    for (const { tokens, logprobs, stopReason } of sequences) {
      expect(tokens).toHaveLength(12);
      expect(logprobs).toHaveLength(12);
      expect(stopReason).toBe("length");
      expect(tokens.every((id) => id >= 0 && id < vocabularySize)).toBe(true);
      expect(logprobs.every((logprob) => logprob <= 0)).toBe(true);
    }
  });

  test("repeats with the same seed and differs with another", async () => {
    const first = await engine.sample(request({ count: 4 }));
    expect(await engine.sample(request({ count: 4 }))).toEqual(first);
    expect(await engine.sample(request({ count: 4, seed: 6 }))).not.toEqual(first);
    expect(first[0]).not.toEqual(first[1]);
  });

  test.each([12, 20, 28])(
    "gives the log-probabilities of a forward pass with heads of %d",
    async (headSize) => {
      const preset = { ...tinyPreset, headSize };
      const policy = `heads of ${headSize}`;
      await engine.createPolicy({
        name: policy,
        model: await makeModel(temporaryFolder(), "model", { preset }),
      });
      const prompt = Int32Array.from({ length: 20 }, (_, i) => i % vocabularySize);
      const sampled = await engine.sample(request({ policy, prompt, count: 9, maxTokens: 40 }));
      const continuations = sampled.map(({ tokens }) => ({ tokens }));
      const { logprobs } = await engine.forward([{ policy, prompt, continuations }]);
      expect(logprobs).toEqual(sampled.map((each) => each.logprobs));
    },
  );

  test("with concurrent requests equals sampling alone, bit for bit", async () => {
    const requests = Array.from({ length: 20 }, (_, i) =>
      request({
        seed: i,
        prompt: ids(...Array.from({ length: 1 + (i % 7) }, (_unused, j) => (i + j) % vocabularySize)),
      }),
    );
    const together = await Promise.all(requests.map((each) => engine.sample(each)));
    for (const [i, each] of requests.entries()) expect(await engine.sample(each)).toEqual(together[i]);
  });

  test("the log-probabilities are those of a forward pass", async () => {
    const sequences = await engine.sample(request({ count: 3 }));
    const data = [{ policy: "p", prompt: request().prompt, continuations: sequences }];
    const { logprobs, tokens, entropy } = await engine.forward(data);
    expect(tokens).toBe(36);
    expect(entropy).toBeGreaterThan(0);
    for (const [i, { logprobs: sampled }] of sequences.entries()) {
      for (const [t, logprob] of sampled.entries()) expect(logprobs[i]?.[t]).toBeCloseTo(logprob, 4);
    }
  });

  test("at temperature 0 and with top-k 1 takes the most probable token", async () => {
    const greedy = await one({ temperature: 0 });
    expect((await one({ temperature: 0, seed: 99 })).tokens).toEqual(greedy.tokens);
    expect((await one({ topK: 1, seed: 99 })).tokens).toEqual(greedy.tokens);
    expect((await one({ topP: 1e-6, seed: 99 })).tokens).toEqual(greedy.tokens);
    const likeliest = await mostLikelyToken(request().prompt);
    expect(greedy.tokens[0]).toBe(likeliest);
  });

  test("stops at a stop token and keeps it", async () => {
    const free = await one();
    const stop = free.tokens[3] as number;
    const stopped = await one({ stopTokens: [stop] });
    const end = free.tokens.indexOf(stop) + 1;
    expect(stopped.tokens).toEqual(free.tokens.slice(0, end));
    expect(stopped.logprobs).toEqual(free.logprobs.slice(0, end));
    expect(stopped.stopReason).toBe("stop");
  });

  test("stops at a stop string", async () => {
    const free = await one({ seed: 11 });
    const at = free.tokens.findIndex((id) => id >= 6);
    const word = words[(free.tokens[at] as number) - 6] as string;
    const stopped = await one({ seed: 11, stopStrings: [word] });
    expect(stopped.tokens).toEqual(free.tokens.slice(0, at + 1));
    expect(stopped.stopReason).toBe("stop");
    const copy = await engine.copy("p");
    expect(await copy.sample(request({ seed: 11, stopStrings: [word] }))).toEqual([stopped]);
    await copy.release();
  });

  test("ends at the model's length", async () => {
    const sequence = await one({ maxTokens: 500, prompt: new Int32Array(60).fill(7) });
    expect(sequence.tokens).toHaveLength(4);
    expect(sequence.stopReason).toBe("length");
  });
});

async function opened(options: LocalEngineOptions = {}): Promise<LocalEngine> {
  const own = testEngine(options);
  await own.createPolicy({ name: "p", model: await makeModel(temporaryFolder(), "model") });
  return own;
}

describe("what conversations continue", () => {
  const prompt = Int32Array.from({ length: 20 }, (_, i) => (7 * i) % vocabularySize);
  const asked = request({ prompt, count: 2, temperature: 9, continued: true });

  /** Samples, and returns how many of the prompt's tokens were not computed. */
  async function reusedFor(own: LocalEngine, more: Partial<SampleRequest>): Promise<number> {
    const before = own.promptTokens.reused;
    const [sampled] = await own.sample({ ...asked, count: 1, ...more });
    const datum = { policy: "p", prompt: more.prompt ?? prompt, continuations: [sampled as SampledSequence] };
    expect((await own.forward([datum])).logprobs).toEqual([sampled?.logprobs]);
    return own.promptTokens.reused - before;
  }

  test("is computed once for each version of the policy", async () => {
    const own = await opened();
    const turns = (await own.sample(asked)).map(({ tokens }) => Int32Array.of(...prompt, ...tokens, 6, 7));
    // The last token that was sampled was never fed.
    for (const next of turns) expect(await reusedFor(own, { prompt: next })).toBe(20 + 12 - 1);
    expect(await reusedFor(own, {})).toBe(19);
    const folder = temporaryFolder();
    const saved = await own.snapshot("p", { folder, name: "saved" });
    await own.forwardBackward([someDatum("p")], { type: "cross_entropy" });
    await own.optimStep("p", adam);
    for (const expected of [0, 33])
      expect(await reusedFor(own, { prompt: turns[0] as Int32Array })).toBe(expected);
    await own.restore("p", { saved, folder });
    expect(await reusedFor(own, {})).toBe(0);
  });

  test("is not kept unless the request says so, or beyond the budget", async () => {
    const own = await opened();
    for (let i = 0; i < 2; i++) expect(await reusedFor(own, { continued: false })).toBe(0);
    const poor = await opened({ cacheBytes: 1 });
    for (let i = 0; i < 2; i++) expect(await reusedFor(poor, {})).toBe(0);
  });
});

async function mostLikelyToken(prompt: Int32Array): Promise<number> {
  const continuations = Array.from({ length: vocabularySize }, (_, id) => ({ tokens: ids(id) }));
  const { logprobs } = await engine.forward([{ policy: "p", prompt, continuations }]);
  const values = logprobs.map((each) => each[0] as number);
  expect(sum(values.map(Math.exp))).toBeCloseTo(1, 5);
  return values.indexOf(Math.max(...values));
}
