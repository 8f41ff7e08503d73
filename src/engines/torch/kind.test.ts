import { expect, it } from "vitest";
import { openEngine } from "../open.ts";
import { failure } from "../../models/test-model.ts";

it("vLLM is rejected with settings that it does not have, before anything is started", async () => {
  for (const more of [{ deterministic: true }, { quantise: "nf4" }] as const)
    expect(
      await failure("bad_arguments", () => openEngine({ type: "torch", sampler: "vllm", ...more })),
    ).toMatch(/neither `deterministic: true` nor `quantise`.*sampler: own/s);
});
