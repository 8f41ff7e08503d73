import { expect, it } from "vitest";
import { arraysOf, lossResult } from "./losses.ts";
import { profiles } from "./profiles.ts";
import { sampleResponse } from "./protocol/schema.ts";
import { bytesOfArray } from "./protocol/tensors.ts";
import { sampleBody, sequencesOf } from "./sampling.ts";

const info = { name: "p", parameters: 1, trainableParameters: 1, maxLength: 8, vocabularySize: 9 };
const request = { policy: "p", prompt: Int32Array.of(1), count: 1, maxTokens: 2, temperature: 1, seed: 1 };

// SkyRL's JAX backend rejects larger ones: "out of bounds for int32".
it.each([
  ["skyrl-jax", 7],
  ["troupe", 2 ** 40 + 7],
] as const)("%s gets seeds that it can keep", (name, expected) => {
  const { sampling_params: sent } = sampleBody({ ...request, seed: 2 ** 40 + 7 }, info, profiles[name]);
  expect(sent.seed).toBe(expected);
});

function answer(
  tokens: readonly number[],
  logprobs: readonly number[],
  { bytes = Infinity, stopReason = 0 } = {},
) {
  const sequence = {
    stopReason,
    tokens: bytesOfArray(Int32Array.from(tokens)),
    logprobs: bytesOfArray(Float32Array.from(logprobs)),
  };
  const body = sampleResponse.encode({ sequences: [sequence] }).subarray(0, bytes);
  return sequencesOf({ status: 200, isProto: true, body }, request, info, 0);
}

it.each([
  ["a token that the model does not have", [9], [-1], "the token 9; p has 9 tokens"],
  ["a negative token", [-1], [-1], "the token -1"],
  ["a log-probability that is no number", [1, 2], [-1, Number.NaN], "the log-probability NaN"],
  ["a probability above 1", [1, 2], [-1, 5], "the log-probability 5"],
  ["more tokens than were asked for", [1, 2, 3], [-1, -1, -1], "at most 2 were asked for"],
  ["tokens without log-probabilities", [1, 2], [-1], "expected one each"],
])("a server that returns %s is not believed", (_, tokens, logprobs, expected) => {
  expect(() => answer(tokens, logprobs)).toThrow(expected);
});

it("a probability that rounding brings above 1 is believed", () => {
  expect(answer([1, 2], [-1, 1e-6])).toHaveLength(1);
});

it("a sample that ended for an unknown reason is not believed", () => {
  expect(answer([1], [-1], { stopReason: 1 })[0]?.stopReason).toBe("length");
  expect(() => answer([1], [-1], { stopReason: 2 })).toThrow("the unknown reason 2");
});

it.each(["loss", "tokens", "kl", "clipped"])("an answer without %s does not read as 0", (name) => {
  const all = { "loss:sum": 1, "tokens:sum": 2, "kl:sum": 3, "clipped:sum": 4 };
  const outputs = [{ logprobs: Float32Array.of(-1, -1) }];
  expect(lossResult(data, [{ outputs, metrics: all }], false)).toMatchObject({ loss: 1, clipped: 4 });
  const { [`${name}:sum` as keyof typeof all]: _, ...metrics } = all;
  const read = () => lossResult(data, [{ outputs, metrics }], false);
  expect(read).toThrow(`The server's answer lacks ${name}:sum.`);
});

it("fewer or more sequences than were asked for are not believed", () => {
  const sequence = { stop_reason: "stop", tokens: [1], logprobs: [-1] };
  for (const sequences of [[], [sequence, sequence]]) {
    const body = Buffer.from(JSON.stringify({ sequences }));
    const read = () => sequencesOf({ status: 200, isProto: false, body }, request, info, 0);
    expect(read).toThrow(`${sequences.length} samples; 1 were asked for`);
  }
});

const data = [{ policy: "p", prompt: Int32Array.of(1, 2), continuations: [{ tokens: Int32Array.of(3, 4) }] }];

it.each<readonly [string, readonly (readonly number[])[], string]>([
  ["fewer log-probabilities than tokens", [[-1]], "1 values for 2 tokens"],
  ["more than prompt and continuation have", [[-1, -1, -1, -1, -1]], "5 values for 2 tokens"],
  ["a probability above 1", [[-1, 5]], "the log-probability 5"],
  ["an infinite one", [[-1, -Infinity]], "the log-probability -Infinity"],
  ["other sequences too", [[-1, -1], [-1]], "2 outputs for 1"],
])("measured, a server that returns %s is not believed", (_, outputs, expected) => {
  const parts = [
    { outputs: outputs.map((logprobs) => ({ logprobs: Float32Array.from(logprobs) })), metrics: {} },
  ];
  expect(() => arraysOf(data, parts, "logprobs")).toThrow(expected);
});

it("measured, a log-probability that is no number is left to whoever trains", () => {
  const parts = [{ outputs: [{ logprobs: Float32Array.of(0, -1, Number.NaN) }], metrics: {} }];
  expect(arraysOf(data, parts, "logprobs")).toEqual([Float32Array.of(-1, Number.NaN)]);
});

it("a truncated answer is the server's fault", () => {
  expect(answer([1, 2], [-1, -2])).toHaveLength(1);
  for (let bytes = 1; bytes < 20; bytes++)
    expect(() => answer([1, 2], [-1, -2], { bytes })).toThrow(expect.objectContaining({ code: "service" }));
});

it("tokens beyond 32 bits do not become others", () => {
  const sequences = [{ stop_reason: "stop", tokens: [2 ** 32 + 1], logprobs: [-1] }];
  const body = Buffer.from(JSON.stringify({ sequences }));
  expect(() => sequencesOf({ status: 200, isProto: false, body }, request, info, 0)).toThrow("Too big");
});
