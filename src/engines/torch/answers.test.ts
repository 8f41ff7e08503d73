/** A worker that answers what no model gives: the verb fails as a service, and nothing of the answer is used. */
import { expect, it } from "vitest";
import { ServiceError } from "../../errors.ts";
import { failure, temporaryFolder } from "../../models/test-model.ts";
import type { Datum } from "../engine.ts";
import type { Answer } from "./answers.ts";
import { TorchEngine } from "./torch-engine.ts";
import type { Asking } from "./worker.ts";

const model = temporaryFolder();
const created = { fresh: [], parameters: 10, trainableParameters: 10, maxLength: 64, vocabularySize: 20 };
const sums = { loss: 1.5, tokens: 3, entropy: 2, kl: 0, referenceKl: 0, clipped: 0 };
const outputs = Float32Array.of(-1, -2, -3);
const samples = {
  tokens: Int32Array.of(4, 2, 5, 6, 7),
  logprobs: Float32Array.of(-1, -1, -1, -1, 0),
  lengths: Int32Array.of(2, 3),
  stopped: Uint8Array.of(1, 0),
};
const honest: Readonly<Record<string, Answer>> = {
  create: { header: created, arrays: {} },
  sample: { header: {}, arrays: samples },
  forward: {
    header: sums,
    arrays: {
      outputs,
      topTokens: Int32Array.of(1, 2, 3, 4, 5, 6),
      topLogprobs: Float32Array.of(-1, -2, -1, -2, -1, -Infinity),
    },
  },
  forwardBackward: { header: sums, arrays: { outputs } },
  optimStep: { header: { gradientNorm: 0 }, arrays: {} },
};

/** The worker ends a process whose answer is rejected. */
async function engineThatHears(verb: string, header: object, arrays: object): Promise<TorchEngine> {
  const ask = async (asked: string, _: unknown, __: unknown, { check }: Asking = {}): Promise<Answer> => {
    const { header: own, arrays: more } = honest[asked] ?? { header: {}, arrays: {} };
    const answer =
      asked === verb ? { header: { ...own, ...header }, arrays: { ...more, ...arrays } } : honest[asked];
    const problem = check?.(answer as Answer) ?? null;
    if (problem !== null) throw new ServiceError(problem);
    return answer as Answer;
  };
  const engine = new TorchEngine({
    ready: Promise.resolve({ header: {}, arrays: {} }),
    memory: null,
    ask,
    saved: () => undefined,
    moved: () => undefined,
    close: async () => undefined,
  });
  if (verb !== "create") await engine.createPolicy({ name: "p", model });
  return engine;
}

const data: readonly Datum[] = [
  { policy: "p", prompt: Int32Array.of(1), continuations: [{ tokens: Int32Array.of(1, 2, 3) }] },
];
const verbs: Readonly<Record<string, (engine: TorchEngine) => Promise<unknown>>> = {
  create: (engine) => engine.createPolicy({ name: "p", model }),
  sample: (engine) =>
    engine.sample({
      policy: "p",
      prompt: Int32Array.of(1),
      count: 2,
      maxTokens: 3,
      temperature: 1,
      seed: 1,
      stopTokens: [2],
    }),
  forward: (engine) => engine.forward(data, { top: 2 }),
  forwardBackward: (engine) => engine.forwardBackward(data, { type: "cross_entropy" }),
  optimStep: (engine) =>
    engine.optimStep("p", { learningRate: 1, beta1: 0, beta2: 0, epsilon: 1, weightDecay: 0, clipNorm: 1 }),
};

it.each(Object.keys(verbs))("%s: an honest answer is taken", async (verb) => {
  const engine = await engineThatHears(verb, {}, {});
  await expect(verbs[verb]?.(engine)).resolves.toBeDefined();
});

type Lie = readonly [verb: string, what: RegExp, header: object, arrays: object];
const lie = (verb: string, what: RegExp, header: object, arrays: object = {}): Lie => [
  verb,
  what,
  header,
  arrays,
];

const lies = [
  lie("create", /vocabularySize/, { vocabularySize: 0 }),
  lie("create", /fresh/, { fresh: [["a", [-1]]] }),
  lie("sample", /token 20/, {}, { tokens: Int32Array.of(4, 2, 5, 20, 7) }),
  lie("sample", /token -1/, {}, { tokens: Int32Array.of(4, 2, 5, -1, 7) }),
  lie("sample", /log-probability of 0\.5/, {}, { logprobs: Float32Array.of(-1, -1, 0.5, -1, 0) }),
  lie("sample", /log-probability of NaN/, {}, { logprobs: Float32Array.of(-1, -1, NaN, -1, 0) }),
  lie("sample", /log-probability of -Infinity/, {}, { logprobs: Float32Array.of(-1, -1, -Infinity, -1, 0) }),
  lie("sample", /5 tokens and 4 log/, {}, { logprobs: Float32Array.of(-1, -1, -1, -1) }),
  lie("sample", /entropies of other/, {}, { entropies: Float32Array.of(1, 1, 1, 1) }),
  lie(
    "sample",
    /entropy of 3\.5 nats; expected 0 to 2\.996/,
    {},
    { entropies: Float32Array.of(1, 1, 3.5, 1, 1) },
  ),
  lie("sample", /entropy of NaN/, {}, { entropies: Float32Array.of(1, NaN, 1, 1, 1) }),
  lie("sample", /no tokens/, {}, { tokens: Float32Array.of(4, 2, 5, 6, 7) }),
  lie("sample", /1 sequences; 2 were/, {}, { lengths: Int32Array.of(5), stopped: Uint8Array.of(1) }),
  lie("sample", /of 4 tokens; expected 1 to 3/, {}, { lengths: Int32Array.of(1, 4) }),
  lie("sample", /of 0 tokens/, {}, { lengths: Int32Array.of(2, 0) }),
  lie("sample", /past its stop token/, {}, { tokens: Int32Array.of(4, 2, 5, 2, 7) }),
  lie("sample", /without a stop token/, {}, { tokens: Int32Array.of(4, 3, 5, 6, 7) }),
  lie(
    "sample",
    /ends after 2 of 3/,
    {},
    { tokens: Int32Array.of(4, 3, 5, 6, 7), stopped: Uint8Array.of(0, 0) },
  ),
  lie("forward", /2 outputs for 3/, {}, { outputs: Float32Array.of(-1, -2) }),
  lie("forward", /log-probability of 1/, {}, { outputs: Float32Array.of(-1, -2, 1) }),
  lie("forward", /entropy of -2/, { entropy: -2 }),
  lie("forward", /token 99/, {}, { topTokens: Int32Array.of(1, 2, 3, 4, 5, 99) }),
  lie("forward", /expected 2 for each/, {}, { topTokens: Int32Array.of(1, 2, 3) }),
  lie("forward", /log-probability of NaN/, {}, { topLogprobs: Float32Array.of(-1, -2, -1, -2, -1, NaN) }),
  lie("forwardBackward", /loss/, { loss: null }),
  lie("forwardBackward", /loss/, { loss: NaN }),
  lie("forwardBackward", /entropy of 9\.5/, { entropy: 9.5 }),
  lie("forwardBackward", /over 4 tokens; the data have 3/, { tokens: 4 }),
  lie("forwardBackward", /4 clipped/, { clipped: 4 }),
  lie("forwardBackward", /kl/, { kl: -1 }),
  lie("optimStep", /gradientNorm/, { gradientNorm: -1 }),
  lie("optimStep", /gradientNorm/, { gradientNorm: "large" }),
  lie("optimStep", /gradientNorm/, { gradientNorm: undefined }),
];

it.each(lies)("%s with %s is a failure", async (verb, what, header, arrays) => {
  const engine = await engineThatHears(verb, header, arrays);
  expect(await failure("service", async () => verbs[verb]?.(engine))).toMatch(what);
});
