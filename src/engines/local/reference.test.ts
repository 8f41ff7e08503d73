/**
 * The engine compared with PyTorch, transformers and PEFT: numbers computed in float64 by
 * tests/fixtures/models/make.py, compared in float32 with a tolerance of 1e-4 of the tensor's largest number.
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
  testEngine,
  snapshotAt,
} from "./test-engine.ts";

const losses: readonly Loss[] = [
  { type: "cross_entropy" },
  { type: "importance_sampling" },
  { type: "ppo", clipLow: 0.2, clipHigh: 0.28 },
];
const adapter = {
  rank: 3,
  alpha: 12,
  targetModules: ["q_proj", "v_proj", "o_proj", "gate_proj", "down_proj"],
  seed: 0,
};

/** log-softmax of the rows that predict the continuation's tokens, from transformers' logits [tokens, vocabulary]. */
function tokenLogprobs(logits: Float32Array, prompt: Int32Array, tokens: Int32Array): Float32Array {
  const width = logits.length / (prompt.length + tokens.length);
  return Float32Array.from(tokens, (token, t) => {
    const row = logits.subarray((prompt.length - 1 + t) * width, (prompt.length + t) * width);
    return (row[token] as number) - Math.log(row.reduce((sum, logit) => sum + Math.exp(logit), 0));
  });
}

const variants = ["llama", "llama-grouped-tied", "llama3-rope", "mistral", "qwen2", "qwen3", "lora"];

describe.each(variants)("%s", (name) => {
  const data = dataOf(name);
  let expected: SafetensorsFile;
  let engine: LocalEngine;

  beforeAll(async () => {
    expected = await openSafetensors(join(fixtures, name, "expected.safetensors"));
    engine = testEngine();
    if (name === "lora") {
      await engine.createPolicy({ name: "p", model: join(fixtures, "llama-grouped-tied"), adapter });
      await engine.restore("p", snapshotAt(join(fixtures, name)));
    } else {
      await engine.createPolicy({ name: "p", model: join(fixtures, name) });
    }
  });

  test("log-probabilities", async () => {
    const { logprobs } = await engine.forward(data);
    const sequences = data.flatMap(({ prompt, continuations }) =>
      continuations.map(({ tokens }) => ({ prompt, tokens })),
    );
    for (const [i, { prompt, tokens }] of sequences.entries()) {
      const reference = tokenLogprobs(await readTensor(expected, `logits.${i}`), prompt, tokens);
      expect(difference(logprobs[i] as Float32Array, reference)).toBeLessThan(1e-4);
    }
  });

  test.each(losses)("$type: the loss and every gradient", async (loss) => {
    const result = await engine.forwardBackward(data, loss);
    expect(difference([result.loss], await readTensor(expected, `${loss.type}.loss`))).toBeLessThan(1e-4);
    expect(await farGradients(engine, expected, `${loss.type}.gradient.`)).toEqual([]);
    await engine.zeroGradients("p");
  });

  test("ten steps of AdamW", async () => {
    expect(await farAfterTenSteps(engine, expected, data, { type: "cross_entropy" })).toEqual([]);
  });
});

test("a PEFT adapter survives saving bit for bit", async () => {
  const engine = testEngine();
  const folder = temporaryFolder();
  await engine.createPolicy({ name: "p", model: join(fixtures, "llama-grouped-tied"), adapter });
  await engine.restore("p", snapshotAt(join(fixtures, "lora")));
  await engine.export("p", join(folder, "saved"));
  const [original, saved] = await Promise.all(
    [join(fixtures, "lora"), join(folder, "saved")].map((place) =>
      openSafetensors(join(place, "adapter_model.safetensors")),
    ),
  );
  for (const name of (original as SafetensorsFile).tensors.keys()) {
    expect(await readTensor(saved as SafetensorsFile, name)).toEqual(
      await readTensor(original as SafetensorsFile, name),
    );
  }
});
