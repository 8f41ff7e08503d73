/**
 * Samples do not depend on what is sampled beside them, bit for bit, and have the probabilities of a pass over all tokens:
 * across blocks of the cache, policies and batches.
 */
import { describe, expect, it } from "vitest";
import { makeModel, temporaryFolder, tinyPreset, vocabularySize } from "../../models/test-model.ts";
import { drawInt, generatorOf, rootKey } from "../../random.ts";
import type { SampleRequest } from "../engine.ts";
import { adam, difference, someDatum } from "../local/test-engine.ts";
import { device, engineWith } from "./testing/own-worker.ts";
import { openShared, python } from "./testing/shared-worker.ts";

const adapter = { rank: 2, alpha: 8, targetModules: ["q_proj", "o_proj", "up_proj"], seed: 4 };

describe.skipIf(python === undefined)("batches", () => {
  it("give each sequence the tokens and log-probabilities that it has alone", async () => {
    const model = await makeModel(temporaryFolder(), "model", { preset: { ...tinyPreset, maxLength: 512 } });
    const engine = openShared();
    await engine.createPolicy({ name: "whole", model });
    for (const [name, targets] of [
      ["one", adapter.targetModules],
      ["other", ["v_proj", "down_proj"]],
    ] as const) {
      await engine.createPolicy({ name, model, adapter: { ...adapter, targetModules: targets } });
      await engine.forwardBackward([someDatum(name)], { type: "cross_entropy" });
      await engine.optimStep(name, { ...adam, learningRate: 0.1 });
    }
    const generator = generatorOf(rootKey(1));
    const requests = Array.from({ length: 24 }, (_, seed): SampleRequest => ({
      policy: ["whole", "one", "other"][seed % 3] as string,
      prompt: Int32Array.from({ length: 1 + drawInt(generator, 280) }, () =>
        drawInt(generator, vocabularySize),
      ),
      count: 1 + drawInt(generator, 3),
      maxTokens: 1 + drawInt(generator, 40),
      temperature: 1,
      seed,
    }));
    const together = await Promise.all(requests.map((each) => engine.sample(each)));
    for (const [index, each] of requests.entries()) {
      const alone = await engine.sample(each);
      expect(alone).toEqual(together[index]);
      const continuations = alone.map(({ tokens }) => ({ tokens }));
      const { logprobs } = await engine.forward([
        { policy: each.policy, prompt: each.prompt, continuations },
      ]);
      for (const [at, found] of logprobs.entries())
        expect(difference(found, alone[at]?.logprobs ?? new Float32Array(0))).toBeLessThan(1e-4);
    }
    await engine.close();
  });

  // On a GPU libraries hold some memory of their own.
  it.skipIf(device !== "cpu")(
    "keep within the bytes of their cache until their sequences are at their longest",
    async () => {
      const model = await makeModel(temporaryFolder(), "model", {
        preset: { ...tinyPreset, maxLength: 512 },
      });
      const { layers, keyValueHeads, headSize } = tinyPreset;
      // Two batches of four rows, in float32.
      const cacheBytes = 2 * (4 * 384 * layers * 2 * keyValueHeads * headSize * 4);
      const sampled = [];
      for (const bytes of [cacheBytes, 4e9]) {
        const engine = engineWith({ rows: 4, cacheBytes: bytes });
        await engine.createPolicy({ name: "p", model });
        const before = engine.memoryBytes;
        let most = 0;
        const requests = Array.from({ length: 8 }, async (_, seed) => {
          const prompt = new Int32Array(250 - seed).fill(3);
          const maxTokens = seed === 0 ? 30 : 20;
          const found = await engine.sample({
            policy: "p",
            prompt,
            count: 2,
            maxTokens,
            temperature: 1,
            seed,
          });
          most = Math.max(most, engine.memoryBytes - before);
          return found;
        });
        sampled.push(await Promise.all(requests));
        expect(most).toBe(bytes === cacheBytes ? cacheBytes : 2 * cacheBytes);
        await engine.close();
      }
      expect(sampled[0]).toEqual(sampled[1]);
    },
  );
});
