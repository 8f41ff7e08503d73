import { expect, it } from "vitest";
import { profiles } from "./profiles/profiles.ts";
import { sampleBody } from "./sampling.ts";

// SkyRL's JAX backend rejects larger ones: "out of bounds for int32".
it.each([
  ["skyrl-jax", 7],
  ["troupe", 2 ** 40 + 7],
] as const)("%s gets seeds that it can keep", (name, expected) => {
  const info = { name: "p", parameters: 1, trainableParameters: 1, maxLength: 8, vocabularySize: 9 };
  const request = {
    policy: "p",
    prompt: Int32Array.of(1),
    count: 1,
    maxTokens: 1,
    temperature: 1,
    seed: 2 ** 40 + 7,
  };
  expect(sampleBody(request, info, profiles[name]).sampling_params.seed).toBe(expected);
});
