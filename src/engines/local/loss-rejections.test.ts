import { beforeAll, describe, expect, test } from "vitest";
import type { Datum, Loss } from "../engine.ts";
import { failure, makeModel, temporaryFolder } from "../../models/test-model.ts";
import { ids, someDatum, testEngine, valued } from "./test-engine.ts";

let model = "";
beforeAll(async () => {
  model = await makeModel(temporaryFolder(), "model");
});

/** The datum with other arrays in its second continuation. */
function change(datum: Datum, more: object): Datum {
  const continuations = datum.continuations.map((each, i) => (i === 0 ? each : { ...each, ...more }));
  return { ...datum, continuations };
}

describe("unsupported losses are rejected with a typed error", () => {
  const engine = testEngine();
  beforeAll(async () => {
    await engine.createPolicy({ name: "p", model });
    await engine.createPolicy({ name: "c", model, valueHead: true });
  });
  const train = (datum: Datum, loss: object) => () => engine.forwardBackward([datum], loss as Loss);
  const ppo = { type: "ppo", clipLow: 0.2, clipHigh: 0.2 };
  const referred = (more: object): Datum => {
    const datum = someDatum("p");
    const continuations = datum.continuations.map((each) => ({
      ...each,
      reference: new Float32Array(each.tokens.length).fill(-2),
      penalties: new Float32Array(each.tokens.length).fill(0.1),
    }));
    return change({ ...datum, continuations }, more);
  };
  const request = { policy: "c", prompt: ids(4), count: 1, maxTokens: 1, temperature: 1, seed: 1 };

  test.each([
    ["sampling a critic", "bad_arguments", () => engine.sample(request), "it is a critic"],
    ["a value loss on a policy", "bad_arguments", train(valued("p"), { type: "value" }), "is not a critic"],
    ["a policy's loss on a critic", "bad_arguments", train(someDatum("c"), ppo), "is a critic"],
    [
      "no targets",
      "bad_arguments",
      train(change(valued("c"), { targets: undefined }), { type: "value" }),
      "[1].targets must",
    ],
    [
      "few targets",
      "bad_shape",
      train(change(valued("c"), { targets: Float32Array.of(1) }), { type: "value" }),
      "1 values for 2 tokens",
    ],
    [
      "no old values",
      "bad_arguments",
      train(change(valued("c"), { values: undefined }), { type: "value", clip: 1 }),
      "`clip` needs it",
    ],
    [
      "a clip of values of 0",
      "bad_arguments",
      train(valued("c"), { type: "value", clip: 0 }),
      "clip must be above 0",
    ],
    [
      "targets that are not numbers",
      "bad_arguments",
      train(change(valued("c"), { targets: Float32Array.of(1, Number.NaN) }), { type: "value" }),
      "targets[1] is NaN; expected a finite number",
    ],
    [
      "no reference",
      "bad_arguments",
      train(referred({ reference: undefined }), { ...ppo, kl: "k3" }),
      "[1].reference must be a Float32Array; `kl` needs it",
    ],
    [
      "no penalties",
      "bad_arguments",
      train(referred({ penalties: undefined }), { ...ppo, kl: "k1" }),
      "[1].penalties must",
    ],
    [
      "a reference for some",
      "bad_arguments",
      train(referred({ reference: undefined }), ppo),
      "another continuation has one",
    ],
    ["an unknown estimator", "bad_arguments", train(referred({}), { ...ppo, kl: "k4" }), "k1, k2 or k3"],
    [
      "an unknown ratio",
      "bad_arguments",
      train(someDatum("p"), { ...ppo, ratio: "word" }),
      "token or sequence",
    ],
    ["a dual clip of 1", "bad_arguments", train(someDatum("p"), { ...ppo, dualClip: 1 }), "above 1"],
    [
      "an unknown key",
      "bad_arguments",
      train(someDatum("p"), { ...ppo, entorpy: 0.5 }),
      "loss: unknown key `entorpy` (did you mean `entropy`?)",
    ],
    [
      "a key of another loss",
      "bad_arguments",
      train(valued("c"), { type: "value", kl: "k3" }),
      "unknown key `kl`",
    ],
    ["an infinite bonus", "bad_arguments", train(someDatum("p"), { ...ppo, entropy: 1e300 }), "entropy"],
    [
      "an unknown loss",
      "bad_arguments",
      train(someDatum("p"), { type: "dpo" }),
      "cross_entropy, importance_sampling, ppo, cispo, value",
    ],
  ] as const)("%s", async (_, code, work, fragment) => {
    expect(await failure(code, work)).toContain(fragment);
  });

  test("a reference without `kl` is only measured", async () => {
    const plain = await engine.forwardBackward([someDatum("p")], ppo as Loss);
    const measured = await engine.forwardBackward([referred({})], ppo as Loss);
    expect(plain).not.toHaveProperty("referenceKl");
    expect(measured).toEqual({ ...plain, referenceKl: expect.any(Number) });
    expect(measured.referenceKl).toBeGreaterThan(0);
    await engine.zeroGradients("p");
  });
});
