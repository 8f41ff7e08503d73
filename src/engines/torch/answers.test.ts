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
async function engineThatHears(verb: string, lie: Readonly<Record<string, unknown>>): Promise<TorchEngine> {
  const entries = Object.entries(lie);
  const header = Object.fromEntries(entries.filter(([, value]) => !ArrayBuffer.isView(value)));
  const arrays = Object.fromEntries(
    entries.filter(([, value]) => ArrayBuffer.isView(value)),
  ) as Answer["arrays"];
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
  const engine = await engineThatHears(verb, {});
  await expect(verbs[verb]?.(engine)).resolves.toBeDefined();
});

const ids = (...values: number[]) => Int32Array.from(values);
const floats = (...values: number[]) => Float32Array.from(values);

it.each<readonly [verb: string, what: RegExp, lie: Readonly<Record<string, unknown>>]>([
  ["create", /vocabularySize/, { vocabularySize: 0 }],
  ["create", /fresh/, { fresh: [["a", [-1]]] }],
  ["sample", /token 20/, { tokens: ids(4, 2, 5, 20, 7) }],
  ["sample", /token -1/, { tokens: ids(4, 2, 5, -1, 7) }],
  ["sample", /log-probability of 0\.5/, { logprobs: floats(-1, -1, 0.5, -1, 0) }],
  ["sample", /log-probability of NaN/, { logprobs: floats(-1, -1, NaN, -1, 0) }],
  ["sample", /log-probability of -Infinity/, { logprobs: floats(-1, -1, -Infinity, -1, 0) }],
  ["sample", /5 tokens and 4 log/, { logprobs: floats(-1, -1, -1, -1) }],
  ["sample", /entropies of other/, { entropies: floats(1, 1, 1, 1) }],
  ["sample", /entropy of 3\.5 nats; expected 0 to 2\.996/, { entropies: floats(1, 1, 3.5, 1, 1) }],
  ["sample", /entropy of NaN/, { entropies: floats(1, NaN, 1, 1, 1) }],
  ["sample", /no tokens/, { tokens: floats(4, 2, 5, 6, 7) }],
  ["sample", /1 sequences; 2 were/, { lengths: ids(5), stopped: Uint8Array.of(1) }],
  ["sample", /of 4 tokens; expected 1 to 3/, { lengths: ids(1, 4) }],
  ["sample", /of 0 tokens/, { lengths: ids(2, 0) }],
  ["sample", /past its stop token/, { tokens: ids(4, 2, 5, 2, 7) }],
  ["sample", /without a stop token/, { tokens: ids(4, 3, 5, 6, 7) }],
  ["sample", /ends after 2 of 3/, { tokens: ids(4, 3, 5, 6, 7), stopped: Uint8Array.of(0, 0) }],
  ["forward", /2 outputs for 3/, { outputs: floats(-1, -2) }],
  ["forward", /log-probability of 1/, { outputs: floats(-1, -2, 1) }],
  ["forward", /entropy of -2/, { entropy: -2 }],
  ["forward", /token 99/, { topTokens: ids(1, 2, 3, 4, 5, 99) }],
  ["forward", /expected 2 for each/, { topTokens: ids(1, 2, 3) }],
  ["forward", /log-probability of NaN/, { topLogprobs: floats(-1, -2, -1, -2, -1, NaN) }],
  ["forwardBackward", /loss/, { loss: null }],
  ["forwardBackward", /loss/, { loss: NaN }],
  ["forwardBackward", /entropy of 9\.5/, { entropy: 9.5 }],
  ["forwardBackward", /over 4 tokens; the data have 3/, { tokens: 4 }],
  ["forwardBackward", /4 clipped/, { clipped: 4 }],
  ["forwardBackward", /kl/, { kl: -1 }],
  ["optimStep", /gradientNorm/, { gradientNorm: -1 }],
  ["optimStep", /gradientNorm/, { gradientNorm: "large" }],
  ["optimStep", /gradientNorm/, { gradientNorm: undefined }],
])("%s with %s is a failure", async (verb, what, lie) => {
  const engine = await engineThatHears(verb, lie);
  expect(await failure("service", async () => verbs[verb]?.(engine))).toMatch(what);
});
