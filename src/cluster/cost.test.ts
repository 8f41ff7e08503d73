/** Hand-computed sizes and times, and what must hold for any. */
import { expect, it } from "vitest";
import { hoursOf, runHours, serverSize, tokenDollars, trainingBytes } from "./cost.ts";
import type { Load } from "./load.ts";
import { gpus } from "./gpus.ts";
import { plannedPolicy, type PlannedPolicy } from "./sizes.ts";

function policyOf(model: string, rank?: number): PlannedPolicy {
  const adapter =
    rank === undefined ? {} : { adapter: { rank, alpha: 32, targetModules: ["q_proj" as const] } };
  const found = plannedPolicy("role", { model: { path: `nowhere/${model}` }, ...adapter });
  if (found === null) throw new Error(model);
  return found;
}

// The counts of the models' pages at the hub.
it.each([
  ["Qwen3-0.6B", 0.6e9],
  ["Qwen3-1.7B", 1.72e9],
  ["Qwen3-4B", 4.02e9],
  ["Qwen3-8B", 8.19e9],
  ["Qwen2.5-Coder-3B", 3.09e9],
  ["DeepSeek-R1-Distill-Qwen-1.5B", 1.78e9],
])("%s has %d parameters", (model, parameters) => {
  expect(Math.abs(policyOf(model).parameters / parameters - 1)).toBeLessThan(0.01);
});

it("an adapter has r · (rows + columns) parameters per projection", () => {
  // 28 layers, q_proj [16 · 128, 1024]
  expect(policyOf("Qwen3-0.6B", 4).trainable).toBe(28 * 4 * (2048 + 1024));
});

it("a whole model in training takes 16 bytes per parameter, shared by the GPUs", () => {
  const policy = policyOf("Qwen3-8B");
  const [one, four] = [1, 4].map((count) => trainingBytes([policy], 1000, count)) as [number, number];
  expect(one - four).toBeCloseTo((16 * policy.parameters * 3) / 4, -3);
  // 131 GB of states: two GPUs leave too little for activations.
  expect(serverSize([policy], 5000, gpus.h100, true).gpus).toBe(4);
  expect(serverSize([policy], 5000, gpus.b200, true).gpus).toBe(1);
  expect(serverSize([policyOf("Qwen3-8B", 16)], 5000, gpus.h100, true).gpus).toBe(1);
});

it("no number of GPUs holds a sequence whose activations exceed one of them", () => {
  // 2 · 36 · 200,000 · 4096 + 34 · 200,000 · 4096 bytes and more, of which 85 % of 80 GB have no room.
  const { gpus: all, gpuBytes } = serverSize([policyOf("Qwen3-8B")], 200_000, gpus.h100, true);
  expect(all).toBe(Infinity);
  expect(gpuBytes).toBeCloseTo((2 * 36 + 34) * 200_000 * 4096 + 8 * 4096 * 151_936, -6);
});

it("separate samplers add their GPUs", () => {
  const { training, sampling, gpus: all } = serverSize([policyOf("Qwen3-1.7B", 16)], 5000, gpus.h100, false);
  expect([training, sampling, all]).toEqual([1, 1, 2]);
});

const load: Load = {
  sampled: 1e6,
  prefilled: 0,
  trained: 3e9,
  scored: 0,
  atATime: 1,
  longest: 0,
};

it("one sequence is written as fast as the weights are read; training runs at 15 % of the peak", () => {
  const policy = policyOf("Qwen3-8B");
  const size = { training: 2, sampling: 1, colocated: false, gpus: 3, gpuBytes: 0, hostBytes: 0 };
  const hours = hoursOf([{ policy, load }], size, gpus.h100);
  expect(hours.sampling).toBeCloseTo((1e6 * 2 * policy.parameters) / (0.5 * 3.35e12) / 3600, 9);
  expect(hours.training).toBeCloseTo((3e9 * 8 * policy.parameters) / (2 * 0.15 * 989e12) / 3600, 9);
});

// SkyRL's table of Search-R1: 512 × 5 sequences on 8 H100s with FSDP (docs/content/docs/examples/megatron.mdx there).
it.each([
  [3.09e9, 658, 42],
  [7.62e9, 834, 100],
])(
  "a model of %d parameters on %d tokens per sequence trains about as published",
  (parameters, tokens, seconds) => {
    const policy = { ...policyOf("Qwen3-8B"), parameters };
    const size = { training: 8, sampling: 8, colocated: true, gpus: 8, gpuBytes: 0, hostBytes: 0 };
    const step = { ...load, sampled: 0, trained: 2560 * tokens };
    const { training } = hoursOf([{ policy, load: step }], size, gpus.h100);
    // The two figures themselves differ by a third per operation.
    expect(Math.abs((3600 * training) / seconds - 1)).toBeLessThan(0.2);
  },
);

it("servers train at the same time, and sample so if their roles act together", () => {
  const servers = [
    { sampling: 3, training: 5 },
    { sampling: 4, training: 1 },
  ];
  // 240 steps of 15 seconds
  expect(runHours(servers, 240, false)).toEqual({ sampling: 7, training: 5, total: 13 });
  expect(runHours(servers, 240, true)).toEqual({ sampling: 4, training: 5, total: 10 });
});

it("tokens are priced per million", () => {
  const price = { prefill: 1, sample: 10, train: 100 };
  expect(tokenDollars({ ...load, prefilled: 2e6, scored: 1e6, trained: 1e6 }, price)).toBe(3 + 10 + 100);
});
