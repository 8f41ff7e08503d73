/** Frozen bases in bfloat16, below products in float32 and in bfloat16. */
import { cpSync, mkdirSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { WeightFormat } from "../../models/float-formats.ts";
import type { LossResult } from "../engine.ts";
import { writeMerged } from "../../models/exported.ts";
import { failure, makeModel, temporaryFolder } from "../../models/test-model.ts";
import { adam, difference, request, someDatum } from "../local/test-engine.ts";
import { device, startWorker } from "./testing/own-worker.ts";
import { openShared, python, workersOf } from "./testing/shared-worker.ts";

const adapter = { rank: 2, alpha: 8, targetModules: ["q_proj", "o_proj", "up_proj", "down_proj"], seed: 4 };

const inBfloat16 = workersOf(() => startWorker({ precision: "bfloat16" }));

/** Of log-probabilities, relative to the largest: a bfloat16 has 8 bits, and the tiny model's weights are large. */
const rounding = 0.1;

describe.skipIf(python === undefined)("a frozen base in bfloat16", async () => {
  const folder = temporaryFolder();
  const written = async (from: string, name: string, format: WeightFormat): Promise<string> => {
    const directory = join(folder, name);
    mkdirSync(directory);
    await writeMerged(directory, { directory: from, base: from, text: from }, format);
    return directory;
  };
  const narrow = await written(await makeModel(folder, "model"), "narrow", "BF16");
  const wide = await written(narrow, "wide", "F32");

  it("gives the log-probabilities, gradients and trained adapters of the same weights in float32", async () => {
    const engine = openShared();
    const found = [];
    for (const [name, model] of Object.entries({ narrow, wide })) {
      await engine.createPolicy({ name, model, adapter });
      for (let step = 0; step < 3; step++) {
        await engine.forwardBackward([someDatum(name)], { type: "cross_entropy" });
        await engine.optimStep(name, { ...adam, learningRate: 0.05 });
      }
      const { logprobs } = await engine.forwardBackward([someDatum(name)], { type: "cross_entropy" });
      const of = async (matrix: string) =>
        engine.readTensor(name, "gradient", `base_model.model.model.layers.0.${matrix}.weight`);
      const gradients = [await of("self_attn.q_proj.lora_A"), await of("mlp.down_proj.lora_B")];
      const prompt = Int32Array.of(1, 2);
      const sampled = await engine.sample({
        policy: name,
        prompt,
        count: 2,
        maxTokens: 8,
        temperature: 1,
        seed: 3,
      });
      found.push({ logprobs, gradients, sampled });
    }
    const [one, other] = found;
    for (const key of ["logprobs", "gradients"] as const)
      for (const [at, values] of (one?.[key] ?? []).entries())
        expect(difference(values, other?.[key][at] ?? new Float32Array(0))).toBeLessThan(1e-5);
    expect(one?.sampled.map(({ tokens }) => tokens)).toEqual(other?.sampled.map(({ tokens }) => tokens));
    await engine.close();
  });

  it("an adapter is not accepted on other weights that were put in its base's place", async () => {
    const engine = openShared();
    const base = await written(narrow, "replaced", "BF16");
    await engine.createPolicy({ name: "p", model: base, adapter });
    const saved = await engine.checkpoint("p", { folder, name: "adapter" });
    const from = { saved, folder };
    const other = await makeModel(folder, "other", { seed: 2 });
    for (const file of readdirSync(other)) {
      rmSync(join(base, file), { force: true });
      cpSync(join(other, file), join(base, file));
    }
    // While the base is in use, and once it is not.
    for (const name of ["q", "p"]) {
      if (name === "p") await engine.removePolicy("p");
      const create = () => engine.createPolicy({ name, model: base, adapter, from });
      expect(await failure("bad_model", create)).toMatch(/trained on a base with other weights/);
    }
    await engine.close();
  });

  // On a GPU libraries hold more than this model.
  it.skipIf(device !== "cpu")("takes half the bytes of the same weights in float32", async () => {
    const bytes = [];
    for (const [model, open] of [
      [wide, () => openShared()],
      [narrow, () => openShared()],
      [narrow, () => openShared(inBfloat16)],
    ] as const) {
      const engine = open();
      const { trainableParameters } = await engine.createPolicy({ name: "p", model, adapter });
      bytes.push(engine.memoryBytes - 4 * trainableParameters);
      await engine.close();
    }
    const [whole = 0, half = 0, rounded = 0] = bytes;
    // But for the weights of norms, which are widened where products are in float32.
    expect(half / whole).toBeLessThan(0.51);
    expect(rounded).toBeLessThan(half);
  });

  it("with products in bfloat16 has float32's numbers within what is rounded, and adapters learn", async () => {
    const names = ["one", "other"];
    const engines = [openShared(inBfloat16), openShared()] as const;
    const [rounded] = engines;
    for (const engine of engines)
      for (const [index, name] of names.entries())
        await engine.createPolicy({ name, model: narrow, adapter: { ...adapter, seed: index } });
    for (const name of names) {
      const passes: LossResult[][] = [];
      for (let step = 0; step < 10; step++) {
        const both = engines.map((engine) =>
          engine.forwardBackward([someDatum(name)], { type: "cross_entropy" }),
        );
        passes.push(await Promise.all(both));
        for (const engine of engines) await engine.optimStep(name, { ...adam, learningRate: 0.02 });
      }
      const [first, expected] = passes[0] as [LossResult, LossResult];
      for (const [at, found] of first.logprobs.entries())
        expect(difference(found, expected.logprobs[at] ?? new Float32Array(0))).toBeLessThan(rounding);
      expect(passes.at(-1)?.[0]?.loss).toBeLessThan(0.9 * first.loss);
    }
    const asked = [...names, ...names].map((policy, seed) =>
      request({ policy, seed, count: 3, maxTokens: 20 }),
    );
    const together = await Promise.all(asked.map((each) => rounded.sample(each)));
    for (const [index, each] of asked.entries()) {
      expect(await rounded.sample(each)).toEqual(together[index]);
      const continuations = together[index]?.map(({ tokens }) => ({ tokens })) ?? [];
      const { logprobs } = await rounded.forward([
        { policy: each.policy, prompt: each.prompt, continuations },
      ]);
      for (const [at, found] of logprobs.entries())
        expect(difference(found, together[index]?.[at]?.logprobs ?? new Float32Array(0))).toBeLessThan(
          rounding,
        );
    }
    for (const engine of engines) await engine.close();
  });

  it("whole models with products in bfloat16 have float32's numbers within what is rounded", async () => {
    const [rounded, exact] = [openShared(inBfloat16), openShared()];
    for (const engine of [rounded, exact]) await engine.createPolicy({ name: "p", model: wide });
    const expected = (await exact.forward([someDatum("p")])).logprobs;
    const passes = [];
    for (let step = 0; step < 10; step++) {
      passes.push(await rounded.forwardBackward([someDatum("p")], { type: "cross_entropy" }));
      await rounded.optimStep("p", adam);
    }
    for (const [at, found] of passes[0]?.logprobs.entries() ?? [])
      expect(difference(found, expected[at] ?? new Float32Array(0))).toBeLessThan(rounding);
    expect(passes.at(-1)?.loss).toBeLessThan(0.9 * (passes[0]?.loss ?? NaN));
    for (const engine of [rounded, exact]) await engine.close();
  });
});
