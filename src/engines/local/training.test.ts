import { beforeAll, describe, expect, test } from "vitest";
import type { Datum } from "../engine.ts";
import { makeModel, temporaryFolder } from "../../models/test-model.ts";
import { adam, someDatum, testEngine } from "./test-engine.ts";

const engine = testEngine();
let model = "";

beforeAll(async () => {
  model = await makeModel(temporaryFolder(), "model");
  await engine.createPolicy({ name: "p", model });
});

function sum(values: Iterable<number> | undefined): number {
  return [...(values ?? [])].reduce((total, value) => total + value, 0);
}

describe("training", () => {
  test("lowers its loss", async () => {
    await engine.createPolicy({ name: "learner", model });
    const data = [someDatum("learner")];
    const losses: number[] = [];
    for (let step = 0; step < 10; step++) {
      losses.push((await engine.forwardBackward(data, { type: "cross_entropy" })).loss);
      expect((await engine.optimStep("learner", adam)).gradientNorm).toBeGreaterThan(0);
    }
    expect(losses.at(-1)).toBeLessThan((losses[0] as number) / 2);
    await engine.removePolicy("learner");
  });

  test("absent weights count as ones, next to given ones", async () => {
    const [first, second] = someDatum("p").continuations as [
      Datum["continuations"][0],
      Datum["continuations"][0],
    ];
    const weights = Float32Array.of(0.5, 0, 2);
    const loss = async (...continuations: Datum["continuations"]): Promise<number> => {
      const result = await engine.forwardBackward([{ ...someDatum("p"), continuations }], {
        type: "cross_entropy",
      });
      await engine.zeroGradients("p");
      return result.loss;
    };
    const { logprobs } = await engine.forward([someDatum("p")]);
    const weighted = sum(logprobs[0]?.map((logprob, t) => logprob * (weights[t] as number)));
    expect(await loss({ ...first, weights }, second)).toBeCloseTo(-weighted - sum(logprobs[1]), 4);
  });

  test("ppo with unchanged log-probabilities is the policy gradient: ratio 1, nothing clipped", async () => {
    const { logprobs } = await engine.forward([someDatum("p")]);
    const continuations = someDatum("p").continuations.map((each, i) => ({
      ...each,
      logprobs: logprobs[i] as Float32Array,
    }));
    const data = [{ ...someDatum("p"), continuations }];
    const ppo = await engine.forwardBackward(data, { type: "ppo", clipLow: 0.2, clipHigh: 0.2 });
    await engine.zeroGradients("p");
    const advantages = continuations.flatMap((each) => [...(each.advantages as Float32Array)]);
    expect(ppo.loss).toBeCloseTo(-sum(advantages), 4);
    expect(ppo.clipped).toBe(0);
    expect(ppo.kl).toBeCloseTo(0, 6);
  });

  test("ppo clips the ratio as MAPPA's PolicyLoss: Δ log π of 0 and .3, A = 1, a mean of −1.1", async () => {
    const [first] = someDatum("p").continuations;
    const { logprobs } = await engine.forward([someDatum("p")]);
    const moved = Float32Array.from(logprobs[0] ?? [], (logprob, t) => logprob - (t === 1 ? 0.3 : 0));
    const advantages = Float32Array.from(moved, (_, t) => (t < 2 ? 0.5 : 0));
    const data = [
      {
        ...someDatum("p"),
        continuations: [{ ...(first as Datum["continuations"][0]), logprobs: moved, advantages }],
      },
    ];
    const { loss } = await engine.forwardBackward(data, { type: "ppo", clipLow: 0.2, clipHigh: 0.2 });
    await engine.zeroGradients("p");
    // Float32, and exp(.3) is clipped to 1.2.
    expect(loss).toBeCloseTo(-1.1, 5);
  });

  test("two adapters on one base train in one call without affecting each other or the base", async () => {
    const both = testEngine();
    const adapter = { rank: 4, alpha: 8, targetModules: ["q_proj", "v_proj", "down_proj"], seed: 1 };
    const info = await both.createPolicy({ name: "one", model, adapter });
    await both.createPolicy({ name: "two", model, adapter: { ...adapter, seed: 2 } });
    await both.createPolicy({ name: "whole", model });
    expect(info.trainableParameters).toBeLessThan(info.parameters);
    const before = await both.forward([someDatum("whole")]);
    expect((await both.forward([someDatum("one")])).logprobs).toEqual(before.logprobs);

    const alone = testEngine();
    await alone.createPolicy({ name: "one", model, adapter });
    for (let step = 0; step < 3; step++) {
      await both.forwardBackward([someDatum("one"), someDatum("two", 3)], { type: "cross_entropy" });
      await both.optimStep("one", adam);
      await both.optimStep("two", adam);
      await alone.forwardBackward([someDatum("one")], { type: "cross_entropy" });
      await alone.optimStep("one", adam);
    }
    const together = await both.forward([someDatum("one")]);
    const apart = await alone.forward([someDatum("one")]);
    for (const [i, logprobs] of apart.logprobs.entries()) {
      for (const [t, logprob] of logprobs.entries())
        expect(together.logprobs[i]?.[t]).toBeCloseTo(logprob, 4);
    }
    expect(together.logprobs).not.toEqual(before.logprobs);
    expect((await both.forward([someDatum("whole")])).logprobs).toEqual(before.logprobs);
  });
});
