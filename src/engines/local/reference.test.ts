/** The engine compared with PyTorch, transformers and PEFT, and what it makes of their settings. */
import { cpSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { readAdapterOptions } from "../../models/adapter-directory.ts";
import { projections } from "../../models/adapter-options.ts";
import { writeMerged } from "../../models/exported.ts";
import { readTensor } from "../../models/safetensors.ts";
import { failure, temporaryFolder } from "../../models/test-model.ts";
import { readObject } from "../../text/files.ts";
import { createReference, describeReferences } from "../testing/reference.ts";
import type { LocalEngine } from "./local-engine.ts";
import {
  dataOf,
  difference,
  fixtures,
  testEngine,
  referenceAdapters,
  request,
  snapshotAt,
} from "./test-engine.ts";

/** With the fixture as the policy `p`. */
async function open(name: string): Promise<LocalEngine> {
  const engine = testEngine();
  await createReference(engine, name);
  return engine;
}

/** log-softmax of the rows that predict the continuation's tokens, from transformers' logits [tokens, vocabulary]. */
function tokenLogprobs(logits: Float32Array, prompt: Int32Array, tokens: Int32Array): Float32Array {
  const width = logits.length / (prompt.length + tokens.length);
  return Float32Array.from(tokens, (token, t) => {
    const row = logits.subarray((prompt.length - 1 + t) * width, (prompt.length + t) * width);
    return (row[token] as number) - Math.log(row.reduce((sum, logit) => sum + Math.exp(logit), 0));
  });
}

describe("numbers of transformers", () => {
  describeReferences(testEngine, (of) => {
    test("log-probabilities", async () => {
      const { logprobs } = await of.engine.forward(of.data);
      const sequences = of.data.flatMap(({ prompt, continuations }) =>
        continuations.map(({ tokens }) => ({ prompt, tokens })),
      );
      for (const [i, { prompt, tokens }] of sequences.entries()) {
        const reference = tokenLogprobs(await readTensor(of.expected, `logits.${i}`), prompt, tokens);
        expect(difference(logprobs[i] as Float32Array, reference)).toBeLessThan(1e-4);
      }
    });

    test("samples have the log-probabilities of a forward pass, bit for bit", async () => {
      for (const prompt of [
        Int32Array.of(5),
        Int32Array.from({ length: 20 }, (_, i) => 3 + ((7 * i) % 30)),
      ]) {
        const sampled = await of.engine.sample(request({ prompt, count: 5, maxTokens: 40 }));
        const continuations = sampled.map(({ tokens }) => ({ tokens }));
        expect(continuations.some(({ tokens }) => tokens.length > 10)).toBe(true);
        const { logprobs } = await of.engine.forward([{ policy: "p", prompt, continuations }]);
        expect(logprobs).toEqual(sampled.map((each) => each.logprobs));
      }
    });
  });
});

test.each(Object.entries(referenceAdapters))(
  "%s merged into %s has its log-probabilities",
  async (name, base) => {
    const merged = temporaryFolder();
    const [directory, model] = [join(fixtures, name), join(fixtures, base)];
    await writeMerged(merged, { directory, base: model, text: model }, "F32");
    const engine = testEngine();
    await engine.createPolicy({ name: "p", model: merged });
    const own = await open(name);
    const [found, expected] = await Promise.all([engine, own].map((each) => each.forward(dataOf(name))));
    for (const [i, logprobs] of (found?.logprobs ?? []).entries())
      expect(difference(logprobs, expected?.logprobs[i] as Float32Array)).toBeLessThan(1e-4);
  },
);

test("an adapter on every projection of Phi-3 is on its fused ones", async () => {
  const engine = testEngine();
  const model = join(fixtures, "phi3");
  const options = { rank: 2, alpha: 4, seed: 3 };
  const adapter = { ...options, targetModules: projections };
  await engine.createPolicy({ name: "p", model, adapter });
  const saved = join(temporaryFolder(), "saved");
  await engine.export("p", saved);
  const modules = ["down_proj", "gate_up_proj", "o_proj", "qkv_proj"];
  expect(readAdapterOptions(saved).targetModules).toEqual(modules);
  await engine.restore("p", snapshotAt(saved));
  await engine.createPolicy({ name: "q", model: saved, adapter });
  const partly = { ...options, targetModules: ["q_proj", "o_proj"] };
  const message = await failure("bad_arguments", () =>
    engine.createPolicy({ name: "r", model, adapter: partly }),
  );
  expect(message).toContain("computes q_proj, k_proj, v_proj as one; name qkv_proj");
});

test("a sequence of Phi-4 is not longer than its frequencies are for", async () => {
  const engine = await open("phi4-mini");
  const [datum] = dataOf("phi4-mini");
  const long = { policy: "p", prompt: new Int32Array(28).fill(4), continuations: datum?.continuations ?? [] };
  expect(await failure("too_long", () => engine.forward([long]))).toContain("the model's 32 positions");
});

/** The log-probabilities of a fixture's data, with other settings in its config.json. */
async function logprobsWith(name: string, settings: object): Promise<number[]> {
  const model = join(temporaryFolder(), name);
  cpSync(join(fixtures, name), model, { recursive: true });
  writeFileSync(
    join(model, "config.json"),
    JSON.stringify({ ...readObject(model, "config.json"), ...settings }),
  );
  const engine = testEngine();
  await engine.createPolicy({ name: "p", model });
  const { logprobs } = await engine.forward(dataOf(name));
  return logprobs.flatMap((each) => [...each]);
}

const gemmaRopes = {
  full_attention: { rope_type: "linear", rope_theta: 300, factor: 4 },
  sliding_attention: { rope_type: "default", rope_theta: 20 },
};
test.each([
  ["mistral-window", { sliding_window: 4 }],
  ["mistral-window", { sliding_window: 6 }],
  ["mistral-window", { sliding_window: null }],
  ["qwen2-window", { layer_types: ["sliding_attention", "full_attention"] }],
  ["qwen3-window", { layer_types: ["full_attention", "sliding_attention"] }],
  ["smollm3", { no_rope_layers: [0, 1] }],
  ["smollm3", { no_rope_layers: [1, 1] }],
  ["phi3", { sliding_window: 8 }],
  ["phi4-mini", { max_position_embeddings: 128 }],
  ["gemma3", { sliding_window: 6 }],
  ["gemma3", { layer_types: ["full_attention", "sliding_attention"] }],
  ["gemma3", { query_pre_attn_scalar: 8 }],
  ["gemma3", { rope_parameters: { ...gemmaRopes, full_attention: gemmaRopes.sliding_attention } }],
  ["gemma3", { rope_parameters: { ...gemmaRopes, sliding_attention: gemmaRopes.full_attention } }],
])("%s with %j has other numbers, so the fixtures above would show a mistake", async (name, settings) => {
  const [as, other] = await Promise.all([logprobsWith(name, {}), logprobsWith(name, settings)]);
  expect(difference(other, Float32Array.from(as))).toBeGreaterThan(1e-3);
});
