import { expect, test } from "vitest";
import type { LossResult } from "../engines/engine.ts";
import { action, decision } from "../credit/testing.ts";
import { divergenceOf, referenceLogprobs } from "./measure.ts";

test("the divergence is the mean of k3 from the policy to its reference, over the policy's own tokens", () => {
  const own = action({ logprobs: Float32Array.of(-1, -2) });
  const another = action({ logprobs: Float32Array.of(-1, -2), policy: "another" });
  const reference = Float32Array.of(-2, -2);
  const measured = new Map([own, another].map((one) => [one, reference]));
  // d = log π − log π_ref = 1 and 0; k3 = e^−d − 1 + d. With the opposite sign it would be e − 2 at the first token.
  const { perToken, tokens } = divergenceOf("solver", measured);
  expect(perToken).toBeCloseTo(Math.exp(-1) / 2, 15);
  expect(tokens).toBe(2);
  expect(divergenceOf("nobody", measured)).toEqual({ perToken: 0, tokens: 0 });
});

test.each([
  [Float32Array.of(-1, Number.NaN), "teacher gave the log-probability NaN for a token of role solver"],
  [Float32Array.of(-1, -Infinity), "teacher gave the log-probability -Infinity"],
  [Float32Array.of(-1), "teacher gave 1 log-probabilities for an action of role solver with 2 tokens"],
])("a reference's %s is a failure, not a missing reward", async (logprobs, message) => {
  const forward = async (): Promise<LossResult> => ({
    loss: 0,
    tokens: 2,
    kl: 0,
    clipped: 0,
    logprobs: [logprobs],
  });
  const asked = referenceLogprobs("teacher", { forward }, [decision(0, [action()])]);
  await expect(asked).rejects.toThrow(message);
});
