/**
 * Engines compared with PyTorch, transformers and PEFT: numbers computed in float64 by tests/fixtures/models/make.py and
 * make_losses.py, compared in float32. Tolerances are relative to the tensor's largest number.
 */
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { readAdapterOptions } from "../../models/adapter-directory.ts";
import { openSafetensors, readTensor, type SafetensorsFile } from "../../models/safetensors.ts";
import { temporaryFolder, tensorsOf } from "../../models/test-model.ts";
import type { Datum, Engine, Loss } from "../engine.ts";
import {
  dataOf,
  difference,
  farAfterTenSteps,
  farGradients,
  fixtures,
  lossesOf,
  referenceAdapters,
  referenceModels,
  snapshotAt,
} from "../local/test-engine.ts";

/** What engines have for these tests beside the verbs. */
export type ReferenceEngine = Engine & {
  export(policy: string, directory: string): Promise<unknown>;
  readTensor(policy: string, kind: "weight" | "gradient", tensor: string): Promise<Float32Array>;
  zeroGradients(policy: string): Promise<void>;
};

export interface Reference<E> {
  /** With the fixture as the policy `p`. */
  readonly engine: E;
  readonly expected: SafetensorsFile;
  readonly data: readonly Datum[];
}

const losses: [string, Loss][] = [
  { type: "cross_entropy" } as const,
  { type: "importance_sampling" } as const,
  { type: "ppo", clipLow: 0.2, clipHigh: 0.28 } as const,
].map((loss) => [loss.type, loss]);
const bases: Readonly<Record<string, string>> = { ...referenceAdapters, "critic-lora": "llama-grouped-tied" };

/** Makes the fixture the policy `p`. */
export async function createReference(engine: Engine, name: string): Promise<void> {
  const base = bases[name];
  const model = join(fixtures, base ?? (name === "losses" ? "llama-grouped-tied" : name));
  const adapter = base === undefined ? {} : { adapter: readAdapterOptions(join(fixtures, name)) };
  await engine.createPolicy({ name: "p", model, valueHead: name.startsWith("critic"), ...adapter });
  if (base !== undefined) await engine.restore("p", snapshotAt(join(fixtures, name)));
}

/** One engine for all tests of a fixture. */
function referenceOf<E extends ReferenceEngine>(name: string, open: () => E): Reference<E> {
  let expected: SafetensorsFile;
  let engine: E;
  beforeAll(async () => {
    expected = await openSafetensors(join(fixtures, name, "expected.safetensors"));
    engine = open();
    await createReference(engine, name);
  });
  afterAll(() => engine.close());
  return {
    data: dataOf(name),
    get engine() {
      return engine;
    },
    get expected() {
      return expected;
    },
  };
}

async function checkLoss(of: Reference<ReferenceEngine>, name: string, loss: Loss, tolerance = 1e-4) {
  const { engine, expected, data } = of;
  const result = await engine.forwardBackward(data, loss);
  expect(difference([result.loss], await readTensor(expected, `${name}.loss`))).toBeLessThan(tolerance);
  expect(await farGradients(engine, expected, `${name}.gradient.`)).toEqual([]);
  await engine.zeroGradients("p");
  return result;
}

/** Saves the policy, and returns its tensors and those of what it was made of. */
async function savedAndMade({ engine }: Reference<ReferenceEngine>, name: string) {
  const saved = join(temporaryFolder(), "saved");
  await engine.export("p", saved);
  const file = name in bases ? "adapter_model.safetensors" : "model.safetensors";
  return Promise.all([saved, join(fixtures, name)].map((folder) => tensorsOf(join(folder, file))));
}

const names = [...referenceModels, ...Object.keys(referenceAdapters)];

/**
 * The tests of every engine.
 *
 * @param own those of this one, for each model before it is trained
 * @param stepped the models of which ten steps are taken
 */
export function describeReferences<E extends ReferenceEngine>(
  open: () => E,
  own: (reference: Reference<E>, name: string) => void,
  stepped: readonly string[] = names,
): void {
  describe.each(names)("%s", (name) => {
    const of = referenceOf(name, open);
    test("is saved as it was loaded, bit for bit", async () => {
      const [saved, made] = await savedAndMade(of, name);
      expect(saved).toEqual(made);
    });
    own(of, name);
    test.each(losses)("%s: the loss and every gradient", async (key, loss) => {
      expect(await checkLoss(of, key, loss)).toMatchObject({ tokens: expect.any(Number) as number });
    });
    test.runIf(stepped.includes(name))("ten steps of AdamW", async () => {
      const far = await farAfterTenSteps(of.engine, of.expected, of.data, { type: "cross_entropy" });
      expect(far).toEqual([]);
    });
  });

  describe("losses of policies", () => {
    const of = referenceOf("losses", open);
    test.each(lossesOf("losses"))("%s", async (name, loss) => {
      const { clipped, referenceKl = Number.NaN } = await checkLoss(of, name, loss, 1e-5);
      expect([clipped]).toEqual([...(await readTensor(of.expected, `${name}.clipped`))]);
      const expected = await readTensor(of.expected, `${name}.reference_kl`);
      expect(difference([referenceKl], expected)).toBeLessThan(1e-5);
    });
  });

  describe.each(["critic", "critic-lora"])("%s", (name) => {
    const of = referenceOf(name, open);
    test("is saved as it was loaded, bit for bit", async () => {
      const [saved, made] = await savedAndMade(of, name);
      expect(saved).toEqual(made);
    });
    test("values", async () => {
      const { values = [], logprobs, tokens } = await of.engine.forward(of.data);
      expect(logprobs.every((each) => each.length === 0)).toBe(true);
      expect(tokens).toBe(values.reduce((sum, each) => sum + each.length, 0));
      for (const [i, found] of values.entries())
        expect(difference(found, await readTensor(of.expected, `values.${i}`))).toBeLessThan(1e-4);
    });
    test.each(lossesOf(name))("%s: the loss and every gradient", async (key, loss) => {
      const { clipped } = await checkLoss(of, key, loss);
      expect([clipped]).toEqual([...(await readTensor(of.expected, `${key}.clipped`))]);
    });
    test("ten steps of AdamW", async () => {
      const [, loss] = lossesOf(name)[0] as [string, Loss];
      expect(await farAfterTenSteps(of.engine, of.expected, of.data, loss)).toEqual([]);
    });
  });
}
