/**
 * Architectures of transformers, most of which the local engine does not know, with windows and bounded scores, compared with transformers' own
 * attention in float64 (testing/make_models.py). Tolerances are relative to the tensor's largest number.
 */
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { beforeAll, describe, expect, it } from "vitest";
import { openSafetensors, readTensor } from "../../models/safetensors.ts";
import { failure, temporaryFolder } from "../../models/test-model.ts";
import { adam, dataOf, difference, farGradients, fixtures, request } from "../local/test-engine.ts";
import { openShared, python } from "./testing/shared-worker.ts";

const script = fileURLToPath(new URL("testing/make_models.py", import.meta.url));

describe.skipIf(python === undefined)("architectures of transformers", () => {
  const folder = temporaryFolder();
  const data = dataOf("llama");
  beforeAll(() => {
    execFileSync(python ?? "", [script, join(fixtures, "llama", "data.json"), folder], { stdio: "ignore" });
  }, 900_000);

  it.each([
    "gemma3",
    "gemma2",
    "phi",
    "phi3",
    "gpt2",
    "olmo2",
    "granite",
    "stablelm",
    "gpt_neox",
    "starcoder2",
    "cohere",
    "glm4",
    "smollm3",
    "gemma4",
    "biogpt",
  ])("%s: log-probabilities, gradients, samples, export", async (name) => {
    const expected = await openSafetensors(join(folder, name, "expected.safetensors"));
    const engine = openShared();
    await engine.createPolicy({ name: "p", model: join(folder, name) });
    const { logprobs } = await engine.forward(data);
    for (const [index, found] of logprobs.entries())
      expect(difference(found, await readTensor(expected, `logprobs.${index}`))).toBeLessThan(1e-4);
    const { loss } = await engine.forwardBackward(data, { type: "cross_entropy" });
    expect(difference([loss], await readTensor(expected, "cross_entropy.loss"))).toBeLessThan(1e-4);
    expect(await farGradients(engine, expected, "cross_entropy.gradient.")).toEqual([]);
    await engine.optimStep("p", adam);
    const asked = request({ count: 20, maxTokens: 20 });
    const sampled = await engine.sample(asked);
    const again = await engine.forward([
      { policy: "p", prompt: asked.prompt, continuations: sampled.map(({ tokens }) => ({ tokens })) },
    ]);
    for (const [index, each] of sampled.entries())
      expect(difference(again.logprobs[index] ?? [], each.logprobs)).toBeLessThan(1e-4);
    const alone = await engine.sample({ ...asked, count: 1 });
    expect(alone[0]).toEqual(sampled[0]);
    const exported = join(folder, `${name}-exported`);
    await engine.export("p", exported);
    await engine.createPolicy({ name: "q", model: exported });
    const ofQ = (await engine.forward(data.map((datum) => ({ ...datum, policy: "q" })))).logprobs;
    expect(ofQ).toEqual((await engine.forward(data)).logprobs);
    await engine.close();
  });

  it.each(["gemma2", "gemma3", "gemma4", "olmo2", "granite", "cohere", "glm4", "smollm3", "starcoder2"])(
    "%s: an adapter's frozen base, which stays in bfloat16, has the numbers of its weights",
    async (name) => {
      const model = join(folder, name, "narrow");
      const expected = await openSafetensors(join(model, "expected.safetensors"));
      const engine = openShared();
      const adapter = { rank: 2, alpha: 4, seed: 1, targetModules: ["q_proj"] };
      await engine.createPolicy({ name: "p", model, adapter });
      const { logprobs } = await engine.forward(data);
      for (const [index, found] of logprobs.entries())
        expect(difference(found, await readTensor(expected, `logprobs.${index}`))).toBeLessThan(1e-5);
      await engine.close();
    },
  );

  it.each([
    ["qwen3_moe", /Qwen3MoeForCausalLM has experts/],
    ["falcon", /its architecture in transformers has an attention of its own/],
    ["plbart", /PLBartDecoderWrapper counts positions itself/],
    ["gpt_oss", /gpt_oss: its attention has sinks/],
    [
      "bloom",
      /how long its sequences can be: its attention is its own code, with a bias by distance \(ALiBi\)/,
    ],
    [
      "mpt",
      /how long its sequences can be: its attention is its own code, with a bias by distance \(ALiBi\)/,
    ],
    ["xglm", /computes other scores for .*: its attention is its own code/],
    ["diffllama", /other scores for sampling token by token.*: its layers attend twice/],
  ])("%s is rejected", async (name, message) => {
    const engine = openShared();
    const create = () => engine.createPolicy({ name: "p", model: join(folder, name) });
    expect(await failure("unsupported", create)).toMatch(message);
    await engine.close();
  });

  it("a model is rejected if its window, its scaling or the bound of its scores is ignored, in bfloat16, too", () => {
    const env = { ...process.env, PYTHONPATH: fileURLToPath(new URL("../../../python", import.meta.url)) };
    const wrong = fileURLToPath(new URL("testing/wrong_attention.py", import.meta.url));
    const printed = execFileSync(python ?? "", [wrong, join(folder, "gemma2")], { env });
    const rejected = JSON.parse(printed.toString()) as Record<string, string | null>;
    for (const precision of ["float32", "bfloat16"]) {
      expect(rejected[`${precision}, nothing`]).toBeNull();
      for (const ignored of ["window", "scaling", "bound"])
        expect(rejected[`${precision}, ${ignored}`]).toMatch(/computes other scores for packed sequences/);
    }
  });

  it("an adapter is trained on the layers that a model has", async () => {
    const engine = openShared();
    const model = join(folder, "phi");
    const options = { rank: 2, alpha: 4, seed: 1 };
    const adapter = { ...options, targetModules: ["q_proj", "dense", "fc1"] };
    await engine.createPolicy({ name: "p", model, adapter });
    const before = await engine.forwardBackward(data, { type: "cross_entropy" });
    await engine.optimStep("p", adam);
    const after = await engine.forwardBackward(data, { type: "cross_entropy" });
    expect(after.loss).toBeLessThan(before.loss);
    const wrong = { ...options, targetModules: ["o_proj"] };
    const message = await failure("bad_arguments", () =>
      engine.createPolicy({ name: "q", model, adapter: wrong }),
    );
    expect(message).toMatch(/no linear layer o_proj.*dense/);
    await engine.close();
  });

  it("what a model says wrongly of itself is rejected", async () => {
    const engine = openShared();
    const model = join(folder, "phi3");
    const config = readFileSync(join(model, "config.json"), "utf8");
    writeFileSync(join(model, "config.json"), config.replace('"hidden_size": 24', '"hidden_size": 32'));
    const create = () => failure("bad_model", () => engine.createPolicy({ name: "p", model }));
    expect(await create()).toMatch(/phi3/);
    writeFileSync(join(model, "config.json"), "{");
    expect(await create()).toMatch(/config\.json cannot be read/);
    const known = JSON.parse(config) as object;
    for (const [wrong, message] of [
      [{ vocab_size: "37" }, /config\.json: .*vocab_size/],
      [{ vocab_size: 41 }, /has lm_head\.weight of the shape 37 × 24, its config\.json says 41 × 24/],
      [{ max_position_embeddings: 1e12 }, /does not say how long/],
      [{ model_type: "own", auto_map: { AutoConfig: "own.Own" } }, /code of its own, which is not executed/],
    ] as const) {
      writeFileSync(join(model, "config.json"), JSON.stringify({ ...known, ...wrong }));
      const problem = await engine.createPolicy({ name: "p", model }).then(String, String);
      expect(problem).toMatch(message);
    }
    await engine.close();
  });
});
