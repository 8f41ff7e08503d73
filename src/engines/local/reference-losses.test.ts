/**
 * The losses of policies and critics compared with PyTorch, transformers and PEFT: numbers computed in float64 by
 * tests/fixtures/models/make_losses.py, compared in float32 with a tolerance of 1e-4 of the tensor's largest number.
 */
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { openSafetensors, readTensor, type SafetensorsFile } from "../../models/safetensors.ts";
import { temporaryFolder } from "../../models/test-model.ts";
import type { Loss } from "../engine.ts";
import type { LocalEngine } from "./local-engine.ts";
import {
  dataOf,
  difference,
  farAfterTenSteps,
  farGradients,
  fixtures,
  lossesOf,
  testEngine,
  snapshotAt,
} from "./test-engine.ts";

describe("losses of policies", () => {
  const data = dataOf("losses");
  let expected: SafetensorsFile;
  let engine: LocalEngine;

  beforeAll(async () => {
    expected = await openSafetensors(join(fixtures, "losses", "expected.safetensors"));
    engine = testEngine();
    await engine.createPolicy({ name: "p", model: join(fixtures, "llama-grouped-tied") });
  });

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

const adapter = { rank: 2, alpha: 6, targetModules: ["q_proj", "v_proj", "down_proj"], seed: 0 };

describe.each(["critic", "critic-lora"])("%s", (name) => {
  const data = dataOf(name);
  const losses = lossesOf(name);
  const file = name === "critic" ? "model.safetensors" : "adapter_model.safetensors";
  let expected: SafetensorsFile;
  let engine: LocalEngine;

  beforeAll(async () => {
    expected = await openSafetensors(join(fixtures, name, "expected.safetensors"));
    engine = testEngine();
    if (name === "critic") {
      await engine.createPolicy({ name: "p", model: join(fixtures, "critic"), valueHead: true });
    } else {
      const model = join(fixtures, "llama-grouped-tied");
      await engine.createPolicy({ name: "p", model, valueHead: true, adapter });
      await engine.restore("p", snapshotAt(join(fixtures, name)));
    }
  });

  test("values", async () => {
    const { values, logprobs, tokens } = await engine.forward(data);
    expect(logprobs.every((each) => each.length === 0)).toBe(true);
    expect(tokens).toBe(values?.reduce((sum, each) => sum + each.length, 0));
    for (const [i, found] of (values ?? []).entries()) {
      expect(difference(found, await readTensor(expected, `values.${i}`))).toBeLessThan(1e-4);
    }
  });

  test.each(losses)("%s: the loss and every gradient", async (loss, options) => {
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
    for (const tensor of original.tensors.keys()) {
      expect(await readTensor(written, tensor)).toEqual(await readTensor(original, tensor));
    }
  });

  test("ten steps of AdamW", async () => {
    const [, loss] = losses[0] as [string, Loss];
    expect(await farAfterTenSteps(engine, expected, data, loss)).toEqual([]);
  });
});
