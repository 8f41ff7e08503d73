/** The engine compared with PyTorch, transformers and PEFT in float64, as the local engine is; and what that saves. */
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { temporaryFolder } from "../../models/test-model.ts";
import { adam, difference, testEngine } from "../local/test-engine.ts";
import { createReference, describeReferences } from "../testing/reference.ts";
import { openShared, python } from "./testing/shared-worker.ts";

/** With biases, fused projections, norms of another kind, and an adapter: PyTorch steps each tensor in the same way. */
const stepped = ["llama-grouped-tied", "qwen2", "phi3", "gemma3", "lora"];

describe.skipIf(python === undefined)("numbers of transformers", () => {
  describeReferences(
    openShared,
    (of, name) => {
      test("what the local engine trained and saved is read with the same log-probabilities", async () => {
        const local = testEngine();
        await createReference(local, name);
        await local.forwardBackward(of.data, { type: "cross_entropy" });
        await local.optimStep("p", adam);
        const saved = join(temporaryFolder(), "saved");
        await local.export("p", saved);
        await of.engine.createPolicy({ name: "q", model: saved });
        const { logprobs } = await local.forward(of.data);
        const read = await of.engine.forward(of.data.map((datum) => ({ ...datum, policy: "q" })));
        for (const [i, found] of read.logprobs.entries())
          expect(difference(found, logprobs[i] as Float32Array)).toBeLessThan(1e-4);
        await of.engine.removePolicy("q");
      });
    },
    stepped,
  );
});
