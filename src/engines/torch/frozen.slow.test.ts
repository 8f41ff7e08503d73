/** A frozen base that stays in bfloat16 computes the numbers of the same weights in float32. */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { WeightFormat } from "../../models/float-formats.ts";
import { writeMerged } from "../../models/exported.ts";
import { makeModel, temporaryFolder } from "../../models/test-model.ts";
import { adam, difference, someDatum } from "../local/test-engine.ts";
import { openShared, python } from "./testing/shared-worker.ts";

const adapter = { rank: 2, alpha: 8, targetModules: ["q_proj", "o_proj", "up_proj", "down_proj"], seed: 4 };

describe.skipIf(python === undefined)("a frozen base in bfloat16", () => {
  it("gives the log-probabilities, gradients and trained adapters of the same weights in float32", async () => {
    const folder = temporaryFolder();
    const written = async (from: string, name: string, format: WeightFormat): Promise<string> => {
      const directory = join(folder, name);
      mkdirSync(directory);
      await writeMerged(directory, { directory: from, base: from, text: from }, format);
      return directory;
    };
    const narrow = await written(await makeModel(folder, "model"), "narrow", "BF16");
    const wide = await written(narrow, "wide", "F32");
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
});
