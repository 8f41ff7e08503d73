/** The base of adapters: as its file has it, in memory once whoever uses it, with the bits of the same weights in float32. */
import { closeSync, cpSync, existsSync, fstatSync, openSync, rmSync, writeSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect, test, vi } from "vitest";
import { failure, makeModel, temporaryFolder, tinyPreset } from "../../models/test-model.ts";
import type { LocalEngine } from "./local-engine.ts";
import { Jobs } from "./native.ts";
import { adapter, request, snapshotAt, someDatum, testEngine, train } from "./test-engine.ts";

const folder = temporaryFolder();
const stored = join(folder, "bfloat16");
const widened = join(folder, "float32");
const other = join(folder, "other");

beforeAll(async () => {
  const preset = { ...tinyPreset, hiddenSize: 128, intermediateSize: 256 };
  const engine = testEngine();
  await engine.createPolicy({ name: "whole", model: await makeModel(folder, "model", { preset }) });
  await engine.export("whole", stored, { format: "BF16" });
  await engine.createPolicy({ name: "rounded", model: stored });
  await engine.export("rounded", widened, { format: "F32" });
  await train(engine, "rounded", 3);
  await engine.export("rounded", other, { format: "BF16" });
});

let copies = 0;

/** A copy of the model, whose files may change. */
function copied(): string {
  const model = join(folder, `copy-${copies++}`, "model");
  cpSync(stored, model, { recursive: true });
  return model;
}

/** Puts other weights of the same shape into a copy of the model. */
const replace = (model: string): void =>
  cpSync(join(other, "model.safetensors"), join(model, "model.safetensors"));

/** Everything that depends on a base: samples, log-probabilities, and what training makes of an adapter. */
async function results(engine: LocalEngine, model: string) {
  await engine.createPolicy({ name: "p", model, adapter });
  const losses = await train(engine, "p", 3);
  const { logprobs } = await engine.forward([someDatum("p")]);
  const samples = await engine.sample(request({ count: 3 }));
  const name = "base_model.model.model.layers.0.self_attn.q_proj.lora_B.weight";
  return { losses, logprobs, samples, trained: await engine.readTensor("p", "weight", name) };
}

test("in bfloat16 gives the bits of the same weights in float32", async () => {
  for (const precision of ["float32", "bfloat16"] as const)
    expect(await results(testEngine({ precision }), stored)).toEqual(
      await results(testEngine({ precision }), widened),
    );
});

test("exists once for several policies, a reference, a critic and a copy", async () => {
  const engine = testEngine();
  const bytesOf = async (work: () => Promise<unknown>): Promise<number> => {
    const before = engine.memoryBytes;
    await work();
    return engine.memoryBytes - before;
  };
  const first = await bytesOf(() => engine.createPolicy({ name: "a", model: stored, adapter }));
  await engine.export("a", join(folder, "saved"));
  const { parameters, trainableParameters } = await engine.createPolicy({
    name: "b",
    model: stored,
    adapter,
  });
  // Two bytes for each number of the base, up to padding.
  expect((first - 4 * trainableParameters) / (parameters - trainableParameters)).toBeLessThan(2.6);
  const from = snapshotAt(join(folder, "saved"));
  const others = [
    () => engine.createPolicy({ name: "reference", model: stored, from }),
    () => engine.createPolicy({ name: "critic", model: stored, from, valueHead: true }),
    () => engine.createPolicy({ name: "continued", model: join(folder, "saved") }),
    () => engine.copy("a"),
  ];
  for (const one of others) expect(await bytesOf(one)).toBeLessThan(8 * trainableParameters);
});

async function logprobsOn(engine: LocalEngine, model: string, name: string): Promise<Float32Array[]> {
  await engine.createPolicy({ name, model, adapter });
  return [...(await engine.forward([someDatum(name)])).logprobs];
}

test("is loaded again after its files were replaced, and earlier adapters keep theirs", async () => {
  const model = copied();
  const engine = testEngine();
  const before = await logprobsOn(engine, model, "before");
  replace(model);
  const expected = await logprobsOn(testEngine(), other, "p");
  expect(await logprobsOn(engine, model, "after")).toEqual(expected);
  expect(expected).not.toEqual(before);
  expect([...(await engine.forward([someDatum("before")])).logprobs]).toEqual(before);
});

test.each([{ adapter }, {}])("is not loaded if its files are replaced meanwhile: %o", async (options) => {
  const model = copied();
  const engine = testEngine();
  const empty = engine.memoryBytes;
  // The headers are read, the weights are not.
  const run = vi.spyOn(Jobs.prototype, "run").mockImplementationOnce(function (this: Jobs, start, signal) {
    replace(model);
    return this.run(start, signal);
  });
  const message = await failure("bad_model", () => engine.createPolicy({ name: "p", model, ...options }));
  run.mockRestore();
  expect(message).toContain("was changed while it was read; try again");
  await vi.waitFor(() => expect(engine.memoryBytes).toBe(empty));
  await engine.createPolicy({ name: "p", model, ...options });
});

test("is recorded with an adapter's weights, which are rejected on another; without a record nothing is known", async () => {
  const model = copied();
  replace(model);
  const [engine, saved] = [testEngine(), join(folder, "recorded")];
  await engine.createPolicy({ name: "a", model: stored, adapter });
  await engine.createPolicy({ name: "b", model, adapter });
  await engine.export("a", saved);
  const restore = () => engine.restore("b", snapshotAt(saved));
  const message = await failure("bad_model", restore);
  expect(message).toContain(
    `${saved} was trained on a base with other weights than ${model}: model.safetensors differs`,
  );
  await engine.restore("a", snapshotAt(saved));
  rmSync(join(saved, "base_digests.json"));
  await restore();
});

test("that was replaced after it was loaded is not recorded", async () => {
  const model = copied();
  const [engine, saved] = [testEngine(), join(folder, "unrecorded")];
  await engine.createPolicy({ name: "a", model, adapter });
  replace(model);
  await engine.export("a", saved);
  expect(existsSync(join(saved, "base_digests.json"))).toBe(false);
});

test.each([{ adapter }, {}])(
  "with a number that is not finite is rejected with the tensor's name: %o",
  async (options) => {
    const model = copied();
    const file = openSync(join(model, "model.safetensors"), "r+");
    writeSync(file, Uint8Array.of(0xc0, 0x7f), 0, 2, fstatSync(file).size - 2);
    closeSync(file);
    const message = await failure("bad_model", () =>
      testEngine().createPolicy({ name: "p", model, ...options }),
    );
    expect(message).toMatch(/model\.safetensors has numbers in tensor model\.\S+ that are not finite/);
  },
);
