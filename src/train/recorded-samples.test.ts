import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import type { SampledSequence, SampleRequest } from "../engines/engine.ts";
import { temporaryFolder } from "../models/test-model.ts";
import { readSamples, recording, saveSamples, type Samples } from "./prefetch.ts";

const request: SampleRequest = {
  policy: "p",
  prompt: Int32Array.of(1, 2),
  count: 1,
  maxTokens: 4,
  temperature: 1,
  seed: 7,
};
const others: readonly Partial<SampleRequest>[] = [
  { temperature: 0.5 },
  { topP: 0.9 },
  { topK: 3 },
  { stopTokens: [4] },
  { stopStrings: ["x"] },
  { prompt: Int32Array.of(1, 3) },
  { seed: 8 },
];

/** Every call samples another token. */
function counting(): (request: SampleRequest) => Promise<SampledSequence[]> {
  let calls = 0;
  return async () => [
    {
      tokens: Int32Array.of((calls += 1)),
      logprobs: Float32Array.of(-1),
      stopReason: "stop",
      policyVersion: 0,
    },
  ];
}

async function tokenOf(sampling: ReturnType<typeof recording>, asked: SampleRequest): Promise<number> {
  return (await sampling(asked))[0]?.tokens[0] ?? 0;
}

it("a request with another setting is not answered with the samples of one", async () => {
  const folder = temporaryFolder();
  const samples: Samples = new Map();
  const first = recording(samples, counting());
  for (const other of [{}, ...others]) await tokenOf(first, { ...request, ...other });
  const resumed = recording(await readSamples(folder, await saveSamples(folder, samples)), counting());
  const found = await Promise.all([{}, ...others].map((other) => tokenOf(resumed, { ...request, ...other })));
  expect(found).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
});

it("the file does not depend on the order in which samples were answered", async () => {
  const contents = [others, others.toReversed()].map(async (asked) => {
    const [folder, samples] = [temporaryFolder(), new Map() as Samples];
    const sampling = recording(samples, async ({ seed }) => [
      { tokens: Int32Array.of(seed), logprobs: Float32Array.of(-1), stopReason: "stop", policyVersion: 0 },
    ]);
    for (const other of asked) await sampling({ ...request, ...other });
    return readFileSync(join(folder, await saveSamples(folder, samples)), "utf8");
  });
  const [one, other] = await Promise.all(contents);
  expect(one?.split("\n")).toHaveLength(others.length + 1);
  expect(other).toBe(one);
});

it("samples of earlier checkpoints, whose keys lack these settings, are found", async () => {
  const { policy, seed, count, maxTokens, prompt } = request;
  const hash = createHash("sha256").update(`${policy} ${seed} ${count} ${maxTokens} `);
  const key = hash.update(Buffer.from(prompt.buffer)).digest("hex");
  const tokens = Int32Array.of(42);
  const old = { tokens, logprobs: Float32Array.of(-1), stopReason: "stop", policyVersion: 0 } as const;
  const sampling = recording(new Map([[key, [old]]]), counting());
  expect(await tokenOf(sampling, { ...request, temperature: 0.5 })).toBe(42);
});
