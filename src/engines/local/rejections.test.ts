/** What messages name of calls that cannot be. The conformance kit has more such calls, with their codes. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import type { ErrorCode } from "../../errors.ts";
import type { Datum, Loss, SampledSequence } from "../engine.ts";
import { LocalEngine } from "./local-engine.ts";
import { startNativeEngine } from "./native.ts";
import { failure, makeModel, temporaryFolder } from "../../models/test-model.ts";
import { ids, request, someDatum, testEngine, valued } from "./test-engine.ts";

const folder = temporaryFolder();
const engine = testEngine();
let model = "";

beforeAll(async () => {
  model = await makeModel(folder, "model");
  await engine.createPolicy({ name: "p", model });
  await engine.createPolicy({ name: "c", model, valueHead: true });
});

const sample = (more: object) => (): Promise<SampledSequence[]> => engine.sample({ ...request(), ...more });
const datum = someDatum("p");
const forward = (more: object) => () => engine.forward([{ ...datum, ...more }]);

/** The datum with other arrays in its second continuation. */
function change(of: Datum, more: object): Datum {
  const continuations = of.continuations.map((each, i) => (i === 0 ? each : { ...each, ...more }));
  return { ...of, continuations };
}

const referred = (more: object): Datum => {
  const continuations = datum.continuations.map((each) => ({
    ...each,
    reference: new Float32Array(each.tokens.length).fill(-2),
    penalties: new Float32Array(each.tokens.length).fill(0.1),
  }));
  return change({ ...datum, continuations }, more);
};
const trained = (of: Datum, loss: object) => () => engine.forwardBackward([of], loss as Loss);
const ppo = { type: "ppo", clipLow: 0.2, clipHigh: 0.2 };
const value = { type: "value" };
const given = (more: object) => trained(change(datum, more), { type: "importance_sampling" });
const targets = (more: object, loss: object = value) => trained(change(valued("c"), more), loss);
const made = (more: object) => () => engine.createPolicy({ name: "q", model, ...more });

type Case = readonly [verb: string, fragment: string, work: () => Promise<unknown>, code?: ErrorCode];

const cases: Case[] = [
  ["sample", 'no policy "q"; there is: p', sample({ policy: "q" })],
  ["sample", "is a critic", sample({ policy: "c" })],
  ["sample", "99", sample({ prompt: ids(1, 99) }), "bad_token"],
  ["sample", "NaN", sample({ stopTokens: [Number.NaN] }), "bad_token"],
  ["sample", "Int32Array", sample({ prompt: [1, 2] })],
  ["sample", "prompt", sample({ prompt: ids() }), "bad_shape"],
  ["sample", "64", sample({ prompt: new Int32Array(65).fill(1) }), "too_long"],
  ["sample", "temperature", sample({ temperature: Number.NaN })],
  ["sample", "count", sample({ count: 1.5 })],
  ["sample", "seed", sample({ seed: 2 ** 60 })],
  ["sample", "maxTokens", sample({ maxTokens: "12" })],
  ["forward", "-1", forward({ prompt: ids(-1) }), "bad_token"],
  ["forward", "64", forward({ prompt: new Int32Array(63).fill(1) }), "too_long"],
  ["forward", "data[0].continuations[0].tokens", forward({ continuations: [{ tokens: [1] }] })],
  ["forward", "continuations[0].tokens", forward({ continuations: [null] })],
  ["forward", "continuations must be", forward({ continuations: undefined })],
  ["forward", "continuation", forward({ continuations: [] }), "bad_shape"],
  ["forward", "data is empty", () => engine.forward([])],
  ["forward", "data is empty or no array", () => engine.forward(null as never)],
  ["forward", "data[0].prompt", () => engine.forward([null as never])],
  ["forward", "data[0].policy", forward({ policy: undefined })],
  ["forwardBackward", "data[0].continuations[1].advantages", given({ advantages: undefined })],
  ["forwardBackward", "1 values for 2 tokens", given({ advantages: Float32Array.of(1) }), "bad_shape"],
  ["forwardBackward", "finite", given({ advantages: new Float32Array(2).fill(Number.NaN) })],
  ["forwardBackward", "is not a critic", trained(valued("p"), value)],
  ["forwardBackward", "is a critic", trained(someDatum("c"), ppo)],
  ["forwardBackward", "[1].targets must", targets({ targets: undefined })],
  ["forwardBackward", "1 values for 2 tokens", targets({ targets: Float32Array.of(1) }), "bad_shape"],
  ["forwardBackward", "`clip` needs it", targets({ values: undefined }, { ...value, clip: 1 })],
  ["forwardBackward", "clip must be above 0", targets({}, { ...value, clip: 0 })],
  ["forwardBackward", "targets[1] is NaN", targets({ targets: Float32Array.of(1, Number.NaN) })],
  ["forwardBackward", "unknown key `kl`", targets({}, { ...value, kl: "k3" })],
  ["forwardBackward", "`kl` needs it", trained(referred({ reference: undefined }), { ...ppo, kl: "k3" })],
  ["forwardBackward", "penalties must", trained(referred({ penalties: undefined }), { ...ppo, kl: "k1" })],
  ["forwardBackward", "another continuation has one", trained(referred({ reference: undefined }), ppo)],
  ["forwardBackward", "k1, k2 or k3", trained(referred({}), { ...ppo, kl: "k4" })],
  ["forwardBackward", "token or sequence", trained(datum, { ...ppo, ratio: "word" })],
  ["forwardBackward", "above 1", trained(datum, { ...ppo, dualClip: 1 })],
  ["forwardBackward", "(did you mean `entropy`?)", trained(datum, { ...ppo, entorpy: 0.5 })],
  ["forwardBackward", "entropy", trained(datum, { ...ppo, entropy: 1e300 })],
  ["forwardBackward", "ppo, cispo, value", trained(datum, { type: "dpo" })],
  ["createPolicy", '"p"', () => engine.createPolicy({ name: "p", model })],
  ["createPolicy", "options.model: expected the path", made({ model: undefined })],
  ["createPolicy", "does not exist", made({ model: join(folder, "no") }), "bad_model"],
  [
    "createPolicy",
    "options.adapter.targetModules: expected an array",
    made({ adapter: { rank: 2, alpha: 4, seed: 0 } }),
  ],
  ["removePolicy", '"q"', () => engine.removePolicy("q")],
  ["export", 'is "Q4"', () => engine.export("p", join(folder, "q4"), { format: "Q4" as "F32" })],
];

for (const [verb, fragment, work, code = "bad_arguments"] of cases)
  test(`${verb}: ${fragment}`, async () => {
    expect(await failure(code, work)).toContain(fragment);
  });

test.each([
  ["rank 0", { rank: 0 }],
  ["alpha NaN", { alpha: Number.NaN }],
  ["an unknown module", { targetModules: ["q_proj", "lm_head"] }],
  ["no module", { targetModules: [] }],
  ["a module twice", { targetModules: ["q_proj", "q_proj"] }],
  ["a seed below zero", { seed: -1 }],
])("an adapter with %s leaves nothing behind", async (_, wrong) => {
  const adapter = { rank: 2, alpha: 4, targetModules: ["q_proj"], seed: 0 };
  expect(await failure("bad_arguments", made({ adapter: { ...adapter, ...wrong } }))).not.toBe("");
  await engine.createPolicy({ name: "q", model, adapter });
  await engine.removePolicy("q");
});

test("a reference without `kl` is only measured", async () => {
  const plain = await engine.forwardBackward([datum], ppo as Loss);
  const measured = await engine.forwardBackward([referred({})], ppo as Loss);
  expect(plain).not.toHaveProperty("referenceKl");
  expect(measured).toEqual({ ...plain, referenceKl: expect.any(Number) });
  expect(measured.referenceKl).toBeGreaterThan(0);
  await engine.zeroGradients("p");
});

describe("named, too, are", () => {
  test("a directory without a tokenizer, for stop strings", async () => {
    const bare = testEngine();
    const directory = await makeModel(folder, "bare");
    await bare.createPolicy({ name: "p", model: directory });
    writeFileSync(join(directory, "tokenizer.json"), "{}");
    const stopped = () => bare.sample(request({ stopStrings: ["x"] }));
    expect(await failure("unsupported", stopped)).toContain(directory);
  });

  test("the bytes of a model larger than this machine's memory, before anything is allocated", async () => {
    const { checkMemory } = await import("./policies.ts");
    const message = await failure("no_memory", () => checkMemory("The weights of m", 2 ** 50));
    expect(message).toContain("1125899906842624 bytes");
  });

  test("what to do about an engine without its addon, and one that is closed", async () => {
    const addon = join(folder, "none.node");
    const message = await failure("no_engine", () => startNativeEngine(1, "float32", 2 ** 30, addon));
    expect(message).toContain("npm rebuild");
    const closed = new LocalEngine({ threads: 1 });
    for (let i = 0; i < 2; i++) await closed.close();
    expect(await failure("bad_arguments", () => closed.createPolicy({ name: "p", model }))).toContain(
      "closed",
    );
  });
});
