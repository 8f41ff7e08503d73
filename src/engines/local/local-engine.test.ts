import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import type { Datum, SampledSequence, SampleRequest } from "../engine.ts";
import { LocalEngine } from "./local-engine.ts";
import { startNativeEngine } from "./native.ts";
import {
  adam,
  failure,
  ids,
  makeModel,
  someDatum,
  temporaryFolder,
  testEngine,
  vocabularySize,
  words,
} from "./test-model.ts";

const folder = temporaryFolder();
const engine = testEngine();
let model = "";

beforeAll(async () => {
  model = await makeModel(folder, "model");
  await engine.createPolicy({ name: "p", model });
});

const request = (more: Partial<SampleRequest> = {}): SampleRequest => ({
  policy: "p",
  prompt: ids(4, 6, 7, 8),
  count: 1,
  maxTokens: 12,
  temperature: 1,
  seed: 5,
  ...more,
});

function sample(more: object): () => Promise<SampledSequence[]> {
  return () => engine.sample({ ...request(), ...more });
}

function sum(values: Iterable<number> | undefined): number {
  return [...(values ?? [])].reduce((total, value) => total + value, 0);
}

async function one(more: Partial<SampleRequest> = {}): Promise<SampledSequence> {
  return (await engine.sample(request(more)))[0] as SampledSequence;
}

describe("sampling", () => {
  test("gives the sequences asked for, within the vocabulary", async () => {
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

  test("repeats with the seed and differs without it", async () => {
    const first = await engine.sample(request({ count: 4 }));
    expect(await engine.sample(request({ count: 4 }))).toEqual(first);
    expect(await engine.sample(request({ count: 4, seed: 6 }))).not.toEqual(first);
    expect(first[0]).not.toEqual(first[1]);
  });

  test("in a crowd equals sampling alone, bit for bit", async () => {
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

  test("at temperature 0 and with top-k 1 takes the likeliest token", async () => {
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
  });

  test("ends at the model's length", async () => {
    const sequence = await one({ maxTokens: 500, prompt: new Int32Array(60).fill(7) });
    expect(sequence.tokens).toHaveLength(4);
    expect(sequence.stopReason).toBe("length");
  });
});

async function mostLikelyToken(prompt: Int32Array): Promise<number> {
  const continuations = Array.from({ length: vocabularySize }, (_, id) => ({ tokens: ids(id) }));
  const { logprobs } = await engine.forward([{ policy: "p", prompt, continuations }]);
  const values = logprobs.map((each) => each[0] as number);
  expect(sum(values.map(Math.exp))).toBeCloseTo(1, 5);
  return values.indexOf(Math.max(...values));
}

describe("training", () => {
  test("lowers the loss it is given", async () => {
    await engine.createPolicy({ name: "learner", model });
    const data = [someDatum("learner")];
    const losses: number[] = [];
    for (let step = 0; step < 10; step++) {
      losses.push((await engine.forwardBackward(data, { type: "cross_entropy" })).loss);
      expect((await engine.optimStep("learner", adam)).gradientNorm).toBeGreaterThan(0);
    }
    expect(losses.at(-1)).toBeLessThan((losses[0] as number) / 2);
    await engine.removePolicy("learner");
  });

  test("absent weights count as ones, beside others that are given", async () => {
    const [first, second] = someDatum("p").continuations as [
      Datum["continuations"][0],
      Datum["continuations"][0],
    ];
    const weights = Float32Array.of(0.5, 0, 2);
    const loss = async (...continuations: Datum["continuations"]): Promise<number> => {
      const result = await engine.forwardBackward([{ ...someDatum("p"), continuations }], {
        type: "cross_entropy",
      });
      await engine.zeroGradients("p");
      return result.loss;
    };
    const { logprobs } = await engine.forward([someDatum("p")]);
    const weighted = sum(logprobs[0]?.map((logprob, t) => logprob * (weights[t] as number)));
    expect(await loss({ ...first, weights }, second)).toBeCloseTo(-weighted - sum(logprobs[1]), 4);
  });

  test("ppo with the new log-probabilities as old ones is the policy gradient: ratio 1, nothing clipped", async () => {
    const { logprobs } = await engine.forward([someDatum("p")]);
    const continuations = someDatum("p").continuations.map((each, i) => ({
      ...each,
      logprobs: logprobs[i] as Float32Array,
    }));
    const data = [{ ...someDatum("p"), continuations }];
    const ppo = await engine.forwardBackward(data, { type: "ppo", clipLow: 0.2, clipHigh: 0.2 });
    await engine.zeroGradients("p");
    const advantages = continuations.flatMap((each) => [...(each.advantages as Float32Array)]);
    expect(ppo.loss).toBeCloseTo(-sum(advantages), 4);
    expect(ppo.clipped).toBe(0);
    expect(ppo.kl).toBeCloseTo(0, 6);
  });

  test("two adapters on one base learn in one call, and neither touches the other or the base", async () => {
    const both = testEngine();
    const adapter = { rank: 4, alpha: 8, targetModules: ["q_proj", "v_proj", "down_proj"], seed: 1 };
    const info = await both.createPolicy({ name: "one", model, adapter });
    await both.createPolicy({ name: "two", model, adapter: { ...adapter, seed: 2 } });
    await both.createPolicy({ name: "whole", model });
    expect(info.trainableParameters).toBeLessThan(info.parameters);
    const before = await both.forward([someDatum("whole")]);
    expect((await both.forward([someDatum("one")])).logprobs).toEqual(before.logprobs);

    const alone = testEngine();
    await alone.createPolicy({ name: "one", model, adapter });
    for (let step = 0; step < 3; step++) {
      await both.forwardBackward([someDatum("one"), someDatum("two", 3)], { type: "cross_entropy" });
      await both.optimStep("one", adam);
      await both.optimStep("two", adam);
      await alone.forwardBackward([someDatum("one")], { type: "cross_entropy" });
      await alone.optimStep("one", adam);
    }
    const together = await both.forward([someDatum("one")]);
    const apart = await alone.forward([someDatum("one")]);
    for (const [i, logprobs] of apart.logprobs.entries()) {
      for (const [t, logprob] of logprobs.entries())
        expect(together.logprobs[i]?.[t]).toBeCloseTo(logprob, 4);
    }
    expect(together.logprobs).not.toEqual(before.logprobs);
    expect((await both.forward([someDatum("whole")])).logprobs).toEqual(before.logprobs);
  });
});

describe("what cannot be done is refused by a typed error", () => {
  const datum = someDatum("p");
  const forward = (more: object) => () => engine.forward([{ ...datum, ...more }]);
  const train = (change: object) => () => {
    const continuations = datum.continuations.slice(0, 1).map((each) => ({ ...each, ...change }));
    return engine.forwardBackward([{ ...datum, continuations }], { type: "importance_sampling" });
  };

  test.each([
    ["an unknown policy", "bad_arguments", sample({ policy: "q" }), 'no policy "q"; there is: p'],
    ["a token beyond the vocabulary", "bad_token", sample({ prompt: ids(1, 99) }), "99"],
    ["a negative token", "bad_token", forward({ prompt: ids(-1) }), "-1"],
    ["a stop token that is no id", "bad_token", sample({ stopTokens: [Number.NaN] }), "NaN"],
    ["a prompt of plain numbers", "bad_arguments", sample({ prompt: [1, 2] }), "Int32Array"],
    [
      "tokens of plain numbers",
      "bad_arguments",
      forward({ continuations: [{ tokens: [1] }] }),
      "data[0].continuations[0].tokens",
    ],
    ["an empty prompt", "bad_shape", sample({ prompt: ids() }), "prompt"],
    ["a prompt that fills the model", "too_long", sample({ prompt: new Int32Array(65).fill(1) }), "64"],
    ["a sequence that is too long", "too_long", forward({ prompt: new Int32Array(63).fill(1) }), "64"],
    ["no data", "bad_arguments", () => engine.forward([]), "data is empty"],
    ["no continuations", "bad_shape", forward({ continuations: [] }), "continuation"],
    [
      "missing advantages",
      "bad_arguments",
      train({ advantages: undefined }),
      "data[0].continuations[0].advantages",
    ],
    ["too few advantages", "bad_shape", train({ advantages: Float32Array.of(1) }), "1 values for 3 tokens"],
    [
      "an advantage that is no number",
      "bad_arguments",
      train({ advantages: new Float32Array(3).fill(Number.NaN) }),
      "finite",
    ],
    ["a temperature below zero", "bad_arguments", sample({ temperature: -1 }), "temperature"],
    ["a temperature that is no number", "bad_arguments", sample({ temperature: Number.NaN }), "temperature"],
    ["a fractional count", "bad_arguments", sample({ count: 1.5 }), "count"],
    ["no sequences", "bad_arguments", sample({ count: 0 }), "count"],
    ["a negative seed", "bad_arguments", sample({ seed: -1 }), "seed"],
    ["a seed that is no integer", "bad_arguments", sample({ seed: 2 ** 60 }), "seed"],
    ["text as a number", "bad_arguments", sample({ maxTokens: "12" }), "maxTokens"],
    ["a name in use", "bad_arguments", () => engine.createPolicy({ name: "p", model }), '"p"'],
    [
      "a model that is not there",
      "bad_model",
      () => engine.createPolicy({ name: "q", model: join(folder, "no") }),
      "does not exist",
    ],
    ["removing nobody", "bad_arguments", () => engine.removePolicy("q"), '"q"'],
  ] as const)("%s", async (_, code, work, fragment) => {
    expect(await failure(code, work)).toContain(fragment);
  });

  test.each([
    ["rank 0", { rank: 0 }],
    ["alpha NaN", { alpha: Number.NaN }],
    ["an unknown module", { targetModules: ["q_proj", "lm_head"] }],
    ["no module", { targetModules: [] }],
    ["a seed below zero", { seed: -1 }],
  ])("an adapter with %s, and nothing is left of it", async (_, change) => {
    const adapter = { rank: 2, alpha: 4, targetModules: ["q_proj"], seed: 0 };
    const bad = { ...adapter, ...change };
    expect(
      await failure("bad_arguments", () => engine.createPolicy({ name: "a", model, adapter: bad })),
    ).not.toBe("");
    await engine.createPolicy({ name: "a", model, adapter });
    await engine.removePolicy("a");
  });

  test("stop strings without a tokenizer", async () => {
    const bare = testEngine();
    const directory = await makeModel(folder, "bare");
    await bare.createPolicy({ name: "p", model: directory });
    writeFileSync(join(directory, "tokenizer.json"), "{}");
    expect(await failure("unsupported", () => bare.sample(request({ stopStrings: ["x"] })))).toContain(
      directory,
    );
  });

  test("a model larger than this machine's memory, before anything is allocated", async () => {
    const { checkMemory } = await import("./memory.ts");
    const message = await failure("no_memory", () => checkMemory("The weights of m", 2 ** 50));
    expect(message).toContain("1125899906842624 bytes");
  });

  test("an engine without its addon", async () => {
    const message = await failure("no_engine", () =>
      startNativeEngine(1, "float32", join(folder, "none.node")),
    );
    expect(message).toContain("npm rebuild");
  });

  test("an engine that is closed", async () => {
    const closed = new LocalEngine({ threads: 1 });
    await closed.close();
    await closed.close();
    expect(await failure("bad_arguments", () => closed.createPolicy({ name: "p", model }))).toContain(
      "closed",
    );
  });
});
