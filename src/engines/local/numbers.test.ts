/** What samples and training give, beyond the conformance kit (../conformance.test.ts) and the references. */
import { beforeAll, describe, expect, test } from "vitest";
import type { Continuation, Datum, SampledSequence, SampleRequest } from "../engine.ts";
import { makeModel, temporaryFolder, tinyPreset, vocabularySize, words } from "../../models/test-model.ts";
import type { LocalEngine, LocalEngineOptions } from "./local-engine.ts";
import { adam, request, someDatum, testEngine } from "./test-engine.ts";

const engine = testEngine();
const folder = temporaryFolder();
let model = "";

beforeAll(async () => {
  model = await makeModel(folder, "model");
  await engine.createPolicy({ name: "p", model });
});

describe("sampling", () => {
  test.each([12, 20, 28])(
    "gives the log-probabilities of a forward pass with heads of %d",
    async (headSize) => {
      const policy = `heads-${headSize}`;
      const made = await makeModel(folder, policy, { preset: { ...tinyPreset, headSize } });
      await engine.createPolicy({ name: policy, model: made });
      const prompt = Int32Array.from({ length: 20 }, (_, i) => i % vocabularySize);
      const sampled = await engine.sample(request({ policy, prompt, count: 9, maxTokens: 40 }));
      const continuations = sampled.map(({ tokens }) => ({ tokens }));
      const { logprobs } = await engine.forward([{ policy, prompt, continuations }]);
      expect(logprobs).toEqual(sampled.map((each) => each.logprobs));
    },
  );

  test("with concurrent requests equals sampling alone, bit for bit", async () => {
    const requests = Array.from({ length: 20 }, (_, i) => {
      const length = 1 + (i % 7);
      const prompt = Int32Array.from({ length }, (_unused, j) => (i + j) % vocabularySize);
      return request({ seed: i, prompt });
    });
    const together = await Promise.all(requests.map((each) => engine.sample(each)));
    for (const [i, each] of requests.entries()) expect(await engine.sample(each)).toEqual(together[i]);
  });

  test("stops at a stop string or token with the numbers that it had without, also of a copy", async () => {
    const [free] = (await engine.sample(request({ seed: 11 }))) as [SampledSequence];
    const at = free.tokens.findIndex((id) => id >= 6);
    const stop = free.tokens[at] as number;
    const expected = [
      {
        ...free,
        tokens: free.tokens.slice(0, at + 1),
        logprobs: free.logprobs.slice(0, at + 1),
        entropies: free.entropies?.slice(0, at + 1),
        stopReason: "stop",
      },
    ];
    const text = request({ seed: 11, stopStrings: [words[stop - 6] as string] });
    for (const asked of [text, request({ seed: 11, stopTokens: [stop] })])
      expect(await engine.sample(asked)).toEqual(expected);
    const copy = await engine.copy("p");
    expect(await copy.sample(text)).toEqual(expected);
    await copy.release();
  });
});

async function opened(options: LocalEngineOptions = {}): Promise<LocalEngine> {
  const own = testEngine(options);
  await own.createPolicy({ name: "p", model });
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

const sum = (values: number[]): number => values.reduce((total, value) => total + value, 0);

const logprobsOf = async (own: LocalEngine, name: string) => (await own.forward([someDatum(name)])).logprobs;

describe("training", () => {
  const [first, second] = someDatum("p").continuations as [Continuation, Continuation];

  test("absent weights count as ones, next to given ones", async () => {
    const weights = Float32Array.of(0.5, 0, 2);
    const data = [{ ...someDatum("p"), continuations: [{ ...first, weights }, second] }];
    const { loss, logprobs } = await engine.forwardBackward(data, { type: "cross_entropy" });
    await engine.zeroGradients("p");
    const [one, other] = logprobs.map((each) => [...each]) as [number[], number[]];
    expect(loss).toBeCloseTo(-sum(one.map((logp, t) => logp * (weights[t] ?? 0))) - sum(other), 4);
  });

  test("ppo clips the ratio as MAPPA's PolicyLoss: Δ log π of 0 and .3, A = 1, a mean of −1.1", async () => {
    const { logprobs } = await engine.forward([someDatum("p")]);
    const moved = Float32Array.from(logprobs[0] ?? [], (logprob, t) => logprob - (t === 1 ? 0.3 : 0));
    const advantages = Float32Array.from(moved, (_, t) => (t < 2 ? 0.5 : 0));
    const data: Datum[] = [{ ...someDatum("p"), continuations: [{ ...first, logprobs: moved, advantages }] }];
    const { loss } = await engine.forwardBackward(data, { type: "ppo", clipLow: 0.2, clipHigh: 0.2 });
    await engine.zeroGradients("p");
    // Float32, and exp(.3) is clipped to 1.2.
    expect(loss).toBeCloseTo(-1.1, 5);
  });

  test("two adapters on one base train in one call without affecting each other or the base", async () => {
    const [both, alone] = [testEngine(), testEngine()];
    const adapter = { rank: 4, alpha: 8, targetModules: ["q_proj", "v_proj", "down_proj"], seed: 1 };
    for (const each of [both, alone]) await each.createPolicy({ name: "one", model, adapter });
    await both.createPolicy({ name: "two", model, adapter: { ...adapter, seed: 2 } });
    await both.createPolicy({ name: "whole", model });
    const before = await logprobsOf(both, "whole");
    for (let step = 0; step < 3; step++) {
      await both.forwardBackward([someDatum("one"), someDatum("two", 3)], { type: "cross_entropy" });
      await alone.forwardBackward([someDatum("one")], { type: "cross_entropy" });
      for (const name of ["one", "two"]) await both.optimStep(name, adam);
      await alone.optimStep("one", adam);
    }
    const together = await logprobsOf(both, "one");
    for (const [i, logprobs] of (await logprobsOf(alone, "one")).entries())
      for (const [t, logprob] of logprobs.entries()) expect(together[i]?.[t]).toBeCloseTo(logprob, 4);
    expect(together).not.toEqual(before);
    expect(await logprobsOf(both, "whole")).toEqual(before);
  });
});
