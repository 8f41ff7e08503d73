import * as fc from "fast-check";
import { expect, test } from "vitest";
import { asTroupeError, startNativeEngine } from "./native.ts";
import { failure } from "../../models/test-model.ts";

const shape = {
  vocabularySize: 10,
  hiddenSize: 8,
  intermediateSize: 8,
  layers: 1,
  heads: 1,
  keyValueHeads: 1,
  headSize: 8,
  maxLength: 16,
  rmsEpsilon: 1e-6,
  normOffset: 0,
  queryScalar: 8,
  embeddingScale: 1,
  activation: "silu" as const,
  queryKeyValueBias: false,
  queryKeyNorm: false,
  fusedProjections: false,
  normedOutputs: false,
  tiedEmbeddings: true,
  valueHead: false,
  windows: Int32Array.of(0),
  layerRopes: Int32Array.of(0),
  inverseFrequencies: [Float32Array.of(1, 0.1, 0.01, 0.001)],
  ropeFactors: Float32Array.of(1),
};
const request = {
  policy: "p",
  prompt: Int32Array.of(1, 2),
  count: 2,
  maxTokens: 3,
  temperature: 1,
  topK: 0,
  topP: 1,
  seed: 1,
  stopTokens: Int32Array.of(3),
  stopStrings: [],
  continued: true,
};
const batch = {
  policies: ["p"],
  policyOf: Int32Array.of(0),
  promptLengths: Int32Array.of(2),
  continuationCounts: Int32Array.of(2),
  continuationLengths: Int32Array.of(1, 2),
  tokens: Int32Array.of(1, 2, 3, 4, 5),
  advantages: Float32Array.of(1, 1, 1),
  logprobs: Float32Array.of(-1, -1, -1),
  reference: Float32Array.of(-1, -2, -1),
  penalties: Float32Array.of(0.1, 0, 0.1),
};
const values = {
  ...batch,
  policies: ["c"],
  targets: Float32Array.of(0, 1, 0),
  values: Float32Array.of(0, 0, 1),
};
const adam = { learningRate: 1e-3, beta1: 0.9, beta2: 0.95, epsilon: 1e-8, weightDecay: 0, clipNorm: 1 };
const adapter = { rank: 2, alpha: 2, targetModules: ["q_proj"], valueHead: true };
const weight = "model.norm.weight";

/** Every method with valid arguments. */
const calls: Readonly<Record<string, readonly unknown[]>> = {
  addModel: ["m", shape],
  addAdapter: ["a", "p", adapter],
  remove: ["m"],
  readTensor: ["p", "weight", weight],
  writeTensor: ["p", "weight", weight, new Float32Array(8)],
  stepCount: ["p"],
  setStepCount: ["p", 3],
  setTokenBytes: [
    "p",
    { bytes: Uint8Array.of(65, 66), lengths: Int32Array.of(0, 0, 0, 0, 0, 0, 0, 0, 1, 1) },
  ],
  sample: [request],
  forward: [batch],
  forwardBackward: [
    batch,
    { type: "ppo", clipLow: 0.2, clipHigh: 0.2, dualClip: 3, ratio: "sequence", kl: "k3" },
  ],
  optimizerStep: ["p", adam],
  zeroGradients: ["p"],
};

const numbers = [Number.NaN, -1, 2 ** 31, 2 ** 53, Infinity];
const garbage = fc.oneof(
  fc.anything(),
  fc.constantFrom<unknown>(...numbers, undefined, null, "", [], {}, () => 1, Symbol("x"), 1n),
  fc.int32Array({ maxLength: 4 }),
  fc.float32Array({ maxLength: 4 }),
  fc.uint8Array({ maxLength: 4 }),
);

/** The arguments with garbage in place of one of them, or of one of its fields. */
function spoiled(given: readonly unknown[]): fc.Arbitrary<readonly unknown[]> {
  return fc.tuple(fc.nat(given.length - 1), fc.nat(12), garbage).map(([at, field, value]) => {
    const fields = typeof given[at] === "object" ? Object.keys(given[at] as object) : [];
    const name = fields[field];
    const replaced = name === undefined ? value : { ...(given[at] as object), [name]: value };
    return given.map((argument, i) => (i === at ? replaced : argument));
  });
}

const known = new Set(["bad_arguments", "bad_shape", "bad_token", "too_long", "no_memory"]);

type Method = (job: number, ...given: readonly unknown[]) => Promise<unknown>;

const allCalls: readonly (readonly [string, readonly unknown[]])[] = [
  ...Object.entries(calls),
  ["forwardBackward", [values, { type: "value", clip: 0.2 }]],
];

test.each(allCalls)("%s rejects garbage with a coded error", async (name, given) => {
  const engine = startNativeEngine(1, "float32");
  const method = ((...all) =>
    (engine as unknown as Record<string, Method>)[name]?.call(engine, ...all)) as Method;
  let job = 0;
  await engine.addModel(++job, "p", shape);
  await engine.addModel(++job, "c", { ...shape, valueHead: true });
  const codes = new Set<string>();
  const property = fc.asyncProperty(spoiled(given), async (spoiledArguments) => {
    try {
      await method(++job, ...spoiledArguments);
    } catch (error) {
      const { code, message } = asTroupeError(error);
      codes.add(code === "internal" ? message : code);
    }
  });
  await fc.assert(property, { numRuns: 150 });
  expect(codes).toContain("bad_arguments");
  expect([...codes].filter((code) => !known.has(code))).toEqual([]);
  await engine.close();
});

test("a job has a number that is not in use", async () => {
  const engine = startNativeEngine(1, "float32");
  const first = engine.addModel(1, "p", shape);
  for (const job of [0, -1, 1.5, Number.NaN, "1"])
    expect(() => engine.stepCount(job as number, "p")).toThrow("job must be");
  expect(() => engine.stepCount(1, "p")).toThrow("Job 1 is unfinished");
  expect(await first).not.toEqual([]);
  expect(await engine.stepCount(2, "p")).toBe(0);
  await engine.close();
});

function start(threads: unknown, precision: unknown) {
  return () => startNativeEngine(threads as number, precision as "float32");
}

test("rejects invalid threads and precisions", async () => {
  expect(await failure("bad_arguments", start(-1, "float32"))).toContain("threads");
  expect(await failure("bad_arguments", start(1.5, "float32"))).toContain("threads");
  expect(await failure("bad_arguments", start(1, "float64"))).toContain("precision");
});
