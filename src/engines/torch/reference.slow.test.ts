/**
 * The engine compared with PyTorch, transformers and PEFT in float64 (tests/fixtures/models), as the local engine is:
 * log-probabilities, losses, every gradient, ten steps of AdamW; and what the local engine saves. Tolerances are relative to the tensor's largest number.
 */
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { readAdapterOptions } from "../../models/adapter-directory.ts";
import { openSafetensors, readTensor, type SafetensorsFile } from "../../models/safetensors.ts";
import { temporaryFolder } from "../../models/test-model.ts";
import type { Loss } from "../engine.ts";
import {
  adam,
  dataOf,
  difference,
  farAfterTenSteps,
  farGradients,
  fixtures,
  lossesOf,
  referenceAdapters,
  referenceModels,
  snapshotAt,
  testEngine,
} from "../local/test-engine.ts";
import { openShared, python } from "./testing/shared-worker.ts";
import type { TorchEngine } from "./torch-engine.ts";

const losses: readonly Loss[] = [
  { type: "cross_entropy" },
  { type: "importance_sampling" },
  { type: "ppo", clipLow: 0.2, clipHigh: 0.28 },
];

const names = [...referenceModels, ...Object.keys(referenceAdapters)];
const bases: Readonly<Record<string, string>> = { ...referenceAdapters, "critic-lora": "llama-grouped-tied" };

/** With the fixture's policy `p`. */
async function open(name: string): Promise<TorchEngine> {
  const engine = openShared();
  const valueHead = name.startsWith("critic");
  const base = bases[name];
  if (base !== undefined) {
    const adapter = readAdapterOptions(join(fixtures, name));
    await engine.createPolicy({ name: "p", model: join(fixtures, base), adapter, valueHead });
    await engine.restore("p", snapshotAt(join(fixtures, name)));
  } else {
    const model = join(fixtures, name === "losses" ? "llama-grouped-tied" : name);
    await engine.createPolicy({ name: "p", model, valueHead });
  }
  return engine;
}

describe.skipIf(python === undefined)("numbers of transformers", () => {
  describe.each(names)("%s", (name) => {
    const data = dataOf(name);
    let expected: SafetensorsFile;
    let engine: TorchEngine;
    beforeAll(async () => {
      expected = await openSafetensors(join(fixtures, name, "expected.safetensors"));
      engine = await open(name);
    });
    afterAll(() => engine.close());

    test.each(losses)("$type: log-probabilities, the loss, every gradient", async (loss) => {
      const result = await engine.forwardBackward(data, loss);
      expect(difference([result.loss], await readTensor(expected, `${loss.type}.loss`))).toBeLessThan(1e-4);
      expect(await farGradients(engine, expected, `${loss.type}.gradient.`)).toEqual([]);
      await engine.zeroGradients("p");
    });

    test("ten steps of AdamW", async () => {
      expect(await farAfterTenSteps(engine, expected, data, { type: "cross_entropy" })).toEqual([]);
    });

    test("what the local engine trained and saved is read with the same log-probabilities", async () => {
      const local = testEngine();
      const base = bases[name];
      const model = join(fixtures, base ?? name);
      const adapter = base === undefined ? {} : { adapter: readAdapterOptions(join(fixtures, name)) };
      await local.createPolicy({ name: "p", model, ...adapter });
      for (let step = 0; step < 3; step++) {
        await local.forwardBackward(data, { type: "cross_entropy" });
        await local.optimStep("p", adam);
      }
      const saved = join(temporaryFolder(), "saved");
      await local.export("p", saved);
      await engine.createPolicy({ name: "q", model: saved, ...adapter });
      const { logprobs } = await local.forward(data);
      const read = await engine.forward(data.map((datum) => ({ ...datum, policy: "q" })));
      for (const [i, found] of read.logprobs.entries())
        expect(difference(found, logprobs[i] as Float32Array)).toBeLessThan(1e-4);
      await engine.removePolicy("q");
    });
  });

  describe("losses of policies", () => {
    const data = dataOf("losses");
    let expected: SafetensorsFile;
    let engine: TorchEngine;
    beforeAll(async () => {
      expected = await openSafetensors(join(fixtures, "losses", "expected.safetensors"));
      engine = await open("losses");
    });
    afterAll(() => engine.close());

    test.each(lossesOf("losses"))("%s", async (name, loss) => {
      const result = await engine.forwardBackward(data, loss);
      expect(difference([result.loss], await readTensor(expected, `${name}.loss`))).toBeLessThan(1e-5);
      expect([result.clipped]).toEqual([...(await readTensor(expected, `${name}.clipped`))]);
      const referenceKl = await readTensor(expected, `${name}.reference_kl`);
      expect(difference([result.referenceKl ?? Number.NaN], referenceKl)).toBeLessThan(1e-5);
      expect(await farGradients(engine, expected, `${name}.gradient.`)).toEqual([]);
      await engine.zeroGradients("p");
    });
  });

  describe.each(["critic", "critic-lora"])("%s", (name) => {
    const data = dataOf(name);
    const file = name === "critic" ? "model.safetensors" : "adapter_model.safetensors";
    let expected: SafetensorsFile;
    let engine: TorchEngine;
    beforeAll(async () => {
      expected = await openSafetensors(join(fixtures, name, "expected.safetensors"));
      engine = await open(name);
    });
    afterAll(() => engine.close());

    test("values", async () => {
      const { values } = await engine.forward(data);
      for (const [i, found] of (values ?? []).entries())
        expect(difference(found, await readTensor(expected, `values.${i}`))).toBeLessThan(1e-4);
    });

    test.each(lossesOf(name))("%s: the loss and every gradient", async (loss, options) => {
      const result = await engine.forwardBackward(data, options);
      expect(difference([result.loss], await readTensor(expected, `${loss}.loss`))).toBeLessThan(1e-4);
      expect([result.clipped]).toEqual([...(await readTensor(expected, `${loss}.clipped`))]);
      expect(await farGradients(engine, expected, `${loss}.gradient.`)).toEqual([]);
      await engine.zeroGradients("p");
    });

    test("is saved in the same layout, bit for bit", async () => {
      const saved = join(temporaryFolder(), "saved");
      await engine.export("p", saved);
      const original = await openSafetensors(join(fixtures, name, file));
      const written = await openSafetensors(join(saved, file));
      expect([...written.tensors.keys()].toSorted()).toEqual([...original.tensors.keys()].toSorted());
      for (const tensor of original.tensors.keys())
        expect(await readTensor(written, tensor)).toEqual(await readTensor(original, tensor));
    });

    test("ten steps of AdamW", async () => {
      const [, loss] = lossesOf(name)[0] as [string, Loss];
      expect(await farAfterTenSteps(engine, expected, data, loss)).toEqual([]);
    });
  });
});
