/** Sampler and credit on the real engine: tokens, log-probabilities and losses must be consistent. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { algorithmFrom } from "../src/credit/algorithms.ts";
import { credit } from "../src/credit/credit.ts";
import { toData } from "../src/credit/data.ts";
import { initModel } from "../src/models/init.ts";
import { openEngine } from "../src/engines/open.ts";
import { rootKey } from "../src/random.ts";
import { loadTokenizer } from "../src/text/tokenizer.ts";
import { writeWordTokenizer } from "../src/text/word-tokenizer.ts";
import { growEpisode, growEpisodes } from "../src/rollout/grow.ts";
import type { RolloutSetting } from "../src/rollout/setting.ts";
import { numbers, pair, roleFor, settingFor } from "../src/rollout/testing/numbers.ts";

const directory = mkdtempSync(join(tmpdir(), "troupe-rollout-"));
const model = join(directory, "model");
const engine = openEngine({ threads: 2, precision: "float32" });
writeWordTokenizer(join(directory, "words"), [...(numbers.oracle?.words ?? []), "you", "are"]);
await initModel({
  directory: model,
  preset: "nano",
  tokenizer: join(directory, "words"),
  seed: 3,
  standardDeviation: 0.3,
});
const { maxLength } = await engine.createPolicy({ name: "both", model });
afterAll(async () => {
  await engine.close();
  rmSync(directory, { recursive: true });
});

const policy = { tokenizer: loadTokenizer(model), maxLength };
const algorithm = algorithmFrom("at-grpo", { samples: 4 });
const roles = [
  roleFor("first", { policy: "both", memory: "conversation" }),
  roleFor("second", { policy: "both" }),
];
const setting: RolloutSetting = {
  ...settingFor(policy, {
    engine,
    team: { ...pair, roles },
    scheme: algorithm.sampling,
    score: algorithm.score,
  }),
  policies: { both: policy },
};
const starts = Array.from({ length: 6 }, (_, task) => ({ task: {}, path: ["train", 0, task] }));

describe("the sampler on the local engine", () => {
  it("grows the same trees one by one and all at once", async () => {
    const { episodes: together } = await growEpisodes(setting, rootKey(5), starts);
    for (const [index, start] of starts.entries()) {
      const alone = await growEpisode(setting, rootKey(5), start);
      expect(alone).toEqual(together[index]);
    }
  });

  it("computes what a conversation continues once, and grows the trees of an engine that keeps nothing", async () => {
    const before = engine.promptTokens;
    const { episodes } = await growEpisodes(setting, rootKey(9), starts);
    expect(engine.promptTokens?.reused).toBeGreaterThan(before?.reused ?? Infinity);
    const forgetful = openEngine({ threads: 1, precision: "float32", cacheBytes: 1 });
    await forgetful.createPolicy({ name: "both", model });
    expect((await growEpisodes({ ...setting, engine: forgetful }, rootKey(9), starts)).episodes).toEqual(
      episodes,
    );
    expect(forgetful.promptTokens?.reused).toBe(0);
    await forgetful.close();
  });

  it("records the log-probabilities of a forward pass over prompt and tokens", async () => {
    const { episodes } = await growEpisodes(setting, rootKey(6), starts.slice(0, 1));
    const actions = episodes.flatMap((episode) => episode.actions);
    const data = actions.map(({ prompt, tokens }) => ({
      policy: "both",
      prompt,
      continuations: [{ tokens }],
    }));
    const { logprobs } = await engine.forward(data);
    const [sampled, computed] = [actions.map((action) => action.logprobs), logprobs].map((arrays) =>
      arrays.flatMap((array) => [...array]),
    );
    expect(sampled?.length).toBeGreaterThan(20);
    for (const [index, value] of (sampled ?? []).entries()) expect(computed?.[index]).toBeCloseTo(value, 4);
  });

  it("gives the engine data whose loss at the first update is minus the sum of the advantages", async () => {
    const { episodes } = await growEpisodes(setting, rootKey(7), starts);
    const data = toData(credit(episodes, algorithm), algorithm);
    const result = await engine.forwardBackward(data, algorithm.objective.loss);
    const continuations = data.flatMap((datum) => datum.continuations);
    const total = continuations
      .flatMap(({ advantages }) => [...(advantages ?? [])])
      .reduce((sum, one) => sum + one, 0);
    expect(continuations.length).toBeGreaterThan(5);
    expect(result.tokens).toBe(continuations.reduce((sum, { tokens }) => sum + tokens.length, 0));
    expect(result.loss).toBeCloseTo(-total, 5); // every ratio is 1
    expect(result.clipped).toBe(0);
    expect(Math.abs(result.kl)).toBeLessThan(1e-5);
  });

  it("stops at once when cancelled", async () => {
    const controller = new AbortController();
    const growing = growEpisodes({ ...setting, signal: controller.signal }, rootKey(8), starts);
    controller.abort();
    await expect(growing).rejects.toMatchObject({ code: "cancelled" });
  });
});
