import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import type { SampledSequence } from "../engine.ts";
import { LocalEngine } from "./local-engine.ts";
import { startNativeEngine } from "./native.ts";
import { failure, makeModel, temporaryFolder } from "../../models/test-model.ts";
import { ids, request, someDatum, testEngine } from "./test-engine.ts";

const folder = temporaryFolder();
const engine = testEngine();
let model = "";

beforeAll(async () => {
  model = await makeModel(folder, "model");
  await engine.createPolicy({ name: "p", model });
});

function sample(more: object): () => Promise<SampledSequence[]> {
  return () => engine.sample({ ...request(), ...more });
}

describe("unsupported calls are rejected with a typed error", () => {
  const datum = someDatum("p");
  const forward = (more: object) => () => engine.forward([{ ...datum, ...more }]);
  const train = (change: object) => () => {
    const continuations = datum.continuations.slice(0, 1).map((each) => ({ ...each, ...change }));
    return engine.forwardBackward([{ ...datum, continuations }], { type: "importance_sampling" });
  };

  test.each([
    ["an unknown policy", "bad_arguments", sample({ policy: "q" }), 'no policy "q"; there is: p'],
    ["a token beyond the vocabulary", "bad_token", sample({ prompt: ids(1, 99) }), "99"],
    ["a negative token", "bad_token", forward({ prompt: ids(-1) }), "-1"],
    ["a stop token that is no id", "bad_token", sample({ stopTokens: [Number.NaN] }), "NaN"],
    ["a prompt of plain numbers", "bad_arguments", sample({ prompt: [1, 2] }), "Int32Array"],
    [
      "tokens of plain numbers",
      "bad_arguments",
      forward({ continuations: [{ tokens: [1] }] }),
      "data[0].continuations[0].tokens",
    ],
    ["an empty prompt", "bad_shape", sample({ prompt: ids() }), "prompt"],
    ["a prompt that fills the model", "too_long", sample({ prompt: new Int32Array(65).fill(1) }), "64"],
    ["a sequence that is too long", "too_long", forward({ prompt: new Int32Array(63).fill(1) }), "64"],
    ["no data", "bad_arguments", () => engine.forward([]), "data is empty"],
    [
      "data that is no array",
      "bad_arguments",
      () => engine.forward(null as never),
      "data is empty or no array",
    ],
    ["an invalid datum", "bad_arguments", () => engine.forward([null as never]), "data[0].prompt"],
    ["a datum without a policy", "bad_arguments", forward({ policy: undefined }), "data[0].policy"],
    [
      "an invalid continuation",
      "bad_arguments",
      forward({ continuations: [null] }),
      "continuations[0].tokens",
    ],
    [
      "invalid continuations",
      "bad_arguments",
      forward({ continuations: undefined }),
      "continuations must be",
    ],
    [
      "an unknown format of weights",
      "bad_arguments",
      () => engine.export("p", join(folder, "q4"), { format: "Q4" as "F32" }),
      'is "Q4"; expected one of F32, BF16, F16',
    ],
    [
      "no model",
      "bad_arguments",
      () => engine.createPolicy({ name: "q" } as never),
      "options.model: expected the path",
    ],
    ["no continuations", "bad_shape", forward({ continuations: [] }), "continuation"],
    [
      "missing advantages",
      "bad_arguments",
      train({ advantages: undefined }),
      "data[0].continuations[0].advantages",
    ],
    ["too few advantages", "bad_shape", train({ advantages: Float32Array.of(1) }), "1 values for 3 tokens"],
    [
      "an advantage that is not a number",
      "bad_arguments",
      train({ advantages: new Float32Array(3).fill(Number.NaN) }),
      "finite",
    ],
    ["a temperature below zero", "bad_arguments", sample({ temperature: -1 }), "temperature"],
    [
      "a temperature that is not a number",
      "bad_arguments",
      sample({ temperature: Number.NaN }),
      "temperature",
    ],
    ["a fractional count", "bad_arguments", sample({ count: 1.5 }), "count"],
    ["no sequences", "bad_arguments", sample({ count: 0 }), "count"],
    ["a negative seed", "bad_arguments", sample({ seed: -1 }), "seed"],
    ["a seed that is not an integer", "bad_arguments", sample({ seed: 2 ** 60 }), "seed"],
    ["text as a number", "bad_arguments", sample({ maxTokens: "12" }), "maxTokens"],
    ["a name in use", "bad_arguments", () => engine.createPolicy({ name: "p", model }), '"p"'],
    [
      "a model that does not exist",
      "bad_model",
      () => engine.createPolicy({ name: "q", model: join(folder, "no") }),
      "does not exist",
    ],
    [
      "an adapter without modules",
      "bad_arguments",
      () => engine.createPolicy({ name: "q", model, adapter: { rank: 2, alpha: 4, seed: 0 } as never }),
      "options.adapter.targetModules: expected an array of projections",
    ],
    ["removing nobody", "bad_arguments", () => engine.removePolicy("q"), '"q"'],
  ] as const)("%s", async (_, code, work, fragment) => {
    expect(await failure(code, work)).toContain(fragment);
  });

  test.each([
    ["rank 0", { rank: 0 }],
    ["alpha NaN", { alpha: Number.NaN }],
    ["an unknown module", { targetModules: ["q_proj", "lm_head"] }],
    ["no module", { targetModules: [] }],
    ["a module twice", { targetModules: ["q_proj", "q_proj"] }],
    ["a seed below zero", { seed: -1 }],
  ])("an adapter with %s, leaving nothing behind", async (_, change) => {
    const adapter = { rank: 2, alpha: 4, targetModules: ["q_proj"], seed: 0 };
    const bad = { ...adapter, ...change };
    expect(
      await failure("bad_arguments", () => engine.createPolicy({ name: "a", model, adapter: bad })),
    ).not.toBe("");
    await engine.createPolicy({ name: "a", model, adapter });
    await engine.removePolicy("a");
  });

  test("stop strings without a tokenizer", async () => {
    const bare = testEngine();
    const directory = await makeModel(folder, "bare");
    await bare.createPolicy({ name: "p", model: directory });
    writeFileSync(join(directory, "tokenizer.json"), "{}");
    expect(await failure("unsupported", () => bare.sample(request({ stopStrings: ["x"] })))).toContain(
      directory,
    );
  });

  test("a model larger than this machine's memory, before anything is allocated", async () => {
    const { checkMemory } = await import("./policies.ts");
    const message = await failure("no_memory", () => checkMemory("The weights of m", 2 ** 50));
    expect(message).toContain("1125899906842624 bytes");
  });

  test("an engine without its addon", async () => {
    const message = await failure("no_engine", () =>
      startNativeEngine(1, "float32", 2 ** 30, join(folder, "none.node")),
    );
    expect(message).toContain("npm rebuild");
  });

  test("an engine that is closed", async () => {
    const closed = new LocalEngine({ threads: 1 });
    await closed.close();
    await closed.close();
    expect(await failure("bad_arguments", () => closed.createPolicy({ name: "p", model }))).toContain(
      "closed",
    );
  });
});
