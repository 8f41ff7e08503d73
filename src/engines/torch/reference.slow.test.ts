/**
 * The engine compared with PyTorch, transformers and PEFT in float64 (tests/fixtures/models), as the local engine is:
 * log-probabilities, losses, every gradient, ten steps of AdamW. Tolerances are relative to the tensor's largest number.
 */
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openSafetensors, readTensor, type SafetensorsFile } from "../../models/safetensors.ts";
import { temporaryFolder } from "../../models/test-model.ts";
import type { Loss } from "../engine.ts";
import {
  dataOf,
  difference,
  farAfterTenSteps,
  farGradients,
  fixtures,
  lossesOf,
  snapshotAt,
} from "../local/test-engine.ts";
import { openShared, python } from "./testing/shared-worker.ts";
import type { TorchEngine } from "./torch-engine.ts";

const losses: readonly Loss[] = [
  { type: "cross_entropy" },
  { type: "importance_sampling" },
  { type: "ppo", clipLow: 0.2, clipHigh: 0.28 },
];
const adapters = {
  lora: {
    rank: 3,
    alpha: 12,
    targetModules: ["q_proj", "v_proj", "o_proj", "gate_proj", "down_proj"],
    seed: 0,
  },
  "critic-lora": { rank: 2, alpha: 6, targetModules: ["q_proj", "v_proj", "down_proj"], seed: 0 },
};

/** With the fixture's policy `p`. */
async function open(name: string): Promise<TorchEngine> {
  const engine = openShared();
  const valueHead = name.startsWith("critic");
  if (name === "lora" || name === "critic-lora") {
    const model = join(fixtures, "llama-grouped-tied");
    await engine.createPolicy({ name: "p", model, adapter: adapters[name], valueHead });
    await engine.restore("p", snapshotAt(join(fixtures, name)));
  } else {
    const model = join(fixtures, name === "losses" ? "llama-grouped-tied" : name);
    await engine.createPolicy({ name: "p", model, valueHead });
  }
  return engine;
}

const variants = ["llama", "llama-grouped-tied", "llama3-rope", "mistral", "qwen2", "qwen3", "lora"];

describe.skipIf(python === undefined)("numbers of transformers", () => {
  describe.each(variants)("%s", (name) => {
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
