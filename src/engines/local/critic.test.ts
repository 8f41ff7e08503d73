import { cpSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import * as fc from "fast-check";
import { beforeAll, describe, expect, test } from "vitest";
import type { PolicyOptions } from "../engine.ts";
import type { LocalEngine } from "./local-engine.ts";
import { openSafetensors, readTensor } from "../../models/safetensors.ts";
import { failure, makeModel, temporaryFolder, tinyPreset, vocabularySize } from "../../models/test-model.ts";
import { adapter, adam, ids, testEngine, valued, snapshotAt } from "./test-engine.ts";

const folder = temporaryFolder();
const at = (...parts: string[]): string => join(folder, ...parts);
let model = "";
let untied = "";

beforeAll(async () => {
  model = await makeModel(folder, "model");
  untied = await makeModel(folder, "untied", { preset: { ...tinyPreset, tiedEmbeddings: false } });
});

async function learn(engine: LocalEngine, policy: string, steps: number): Promise<number[]> {
  const losses: number[] = [];
  for (let step = 0; step < steps; step++) {
    losses.push((await engine.forwardBackward([valued(policy)], { type: "value", clip: 5 })).loss);
    await engine.optimStep(policy, adam);
  }
  return losses;
}

const valuesOf = async (engine: LocalEngine, policy: string) =>
  (await engine.forward([valued(policy)])).values;

describe("a critic", () => {
  test("starts at zero everywhere and has the squares of its errors", async () => {
    const engine = testEngine();
    const info = await engine.createPolicy({ name: "c", model, valueHead: true });
    const start = await engine.forward([valued("c")]);
    expect(start.values).toEqual([new Float32Array(3), new Float32Array(2)]);
    expect(start.logprobs).toEqual([new Float32Array(0), new Float32Array(0)]);
    expect([start.entropy, start.kl, start.tokens]).toEqual([0, 0, 5]);
    expect(await engine.readTensor("c", "weight", "score.weight")).toEqual(new Float32Array(32));
    const [loss] = await learn(engine, "c", 1);
    expect(loss).toBeCloseTo(0.5 * (0.25 + 2.25 + 6.25 + 0.25 + 2.25), 5);
    const policy = await engine.createPolicy({ name: "p", model });
    expect(info.parameters - policy.parameters).toBe(33);
  });

  test("has the same value for the same state, whatever follows", async () => {
    const engine = testEngine();
    await engine.createPolicy({ name: "c", model, valueHead: true });
    await learn(engine, "c", 3);
    const { values = [] } = await engine.forward([
      { policy: "c", prompt: ids(4, 7), continuations: [{ tokens: ids(6, 9, 2) }, { tokens: ids(6, 3, 8) }] },
      { policy: "c", prompt: ids(4, 7, 6), continuations: [{ tokens: ids(1) }] },
    ]);
    expect(values[0]?.slice(0, 2)).toEqual(values[1]?.slice(0, 2));
    expect(values[0]?.[2]).not.toBe(values[1]?.[2]);
    expect(values[2]?.[0]).toBeCloseTo(values[0]?.[1] as number, 5);
  });

  test("of a model with an untied head omits that head", async () => {
    const engine = testEngine();
    const tied = await engine.createPolicy({ name: "t", model, valueHead: true });
    const info = await engine.createPolicy({ name: "c", model: untied, valueHead: true });
    expect(info.parameters).toBe(tied.parameters);
    await learn(engine, "c", 1);
    await engine.export("c", at("from-untied"));
    expect(
      (await openSafetensors(at("from-untied", "model.safetensors"))).tensors.has("lm_head.weight"),
    ).toBe(false);
    await engine.createPolicy({ name: "again", model: at("from-untied"), valueHead: true });
    expect(await valuesOf(engine, "again")).toEqual(await valuesOf(engine, "c"));
  });

  test("has the same bits alone and in one call with policies of its base", async () => {
    const engine = testEngine();
    const names = ["whole", "critic", "agent", "judge"];
    await engine.createPolicy({ name: "whole", model });
    await engine.createPolicy({ name: "critic", model, valueHead: true });
    await engine.createPolicy({ name: "agent", model, adapter });
    await engine.createPolicy({ name: "judge", model, adapter, valueHead: true });
    for (const critic of ["critic", "judge"]) await learn(engine, critic, 3);
    const token = fc.nat(vocabularySize - 1);
    const tokens = (most: number): fc.Arbitrary<Int32Array> =>
      fc.array(token, { minLength: 1, maxLength: most }).map((list) => Int32Array.from(list));
    const datum = fc.record({
      policy: fc.constantFrom(...names),
      prompt: tokens(9),
      continuations: fc.array(
        tokens(5).map((list) => ({ tokens: list })),
        { minLength: 1, maxLength: 3 },
      ),
    });
    const property = fc.asyncProperty(fc.array(datum, { minLength: 1, maxLength: 6 }), async (data) => {
      const together = await engine.forward(data);
      const apart = await Promise.all(data.map((each) => engine.forward([each])));
      expect(together.logprobs).toEqual(apart.flatMap((each) => each.logprobs));
      const values = apart.flatMap((each) => each.values ?? each.logprobs.map(() => new Float32Array(0)));
      expect(together.values ?? values).toEqual(values);
      expect("values" in together).toBe(data.some(({ policy }) => ["critic", "judge"].includes(policy)));
    });
    await fc.assert(property, { numRuns: 40 });
  });
});

describe.each<[string, Partial<PolicyOptions>]>([
  ["a whole critic", {}],
  ["a critic's adapter", { adapter }],
])("%s", (name, options) => {
  const create = async (): Promise<LocalEngine> => {
    const engine = testEngine();
    await engine.createPolicy({ name: "c", model, valueHead: true, ...options });
    return engine;
  };

  test("is saved, loaded and resumed bit for bit", async () => {
    const [straight, resumed] = [await create(), await create()];
    await learn(straight, "c", 3);
    const saved = await straight.checkpoint("c", { folder, name: `saved ${name}` });
    await resumed.restore("c", { saved, folder });
    expect(await valuesOf(resumed, "c")).toEqual(await valuesOf(straight, "c"));
    expect(await learn(resumed, "c", 3)).toEqual(await learn(straight, "c", 3));
    expect(await valuesOf(resumed, "c")).toEqual(await valuesOf(straight, "c"));
  });

  test("does not load a policy's weights, and a policy does not load a critic's", async () => {
    const engine = await create();
    await engine.createPolicy({ name: "p", model, ...options });
    const places = { c: at(`head ${name}`), p: at(`no head ${name}`) };
    await engine.export("c", places.c);
    await engine.export("p", places.p);
    const setting = "adapter" in options ? "modules_to_save" : "valueHead";
    for (const [policy, other] of [
      ["c", places.p],
      ["p", places.c],
    ] as const)
      expect(await failure("bad_model", () => engine.restore(policy, snapshotAt(other)))).toContain(setting);
  });
});

describe("a critic's directory", () => {
  const engine = testEngine();
  beforeAll(async () => {
    await engine.createPolicy({ name: "c", model, valueHead: true });
    await learn(engine, "c", 5);
    await engine.export("c", at("critic"));
  });

  test("is a token classifier of one label, and rejected as a policy, or with several labels", async () => {
    const config = JSON.parse(readFileSync(at("critic", "config.json"), "utf8")) as Record<string, unknown>;
    expect(config).toMatchObject({ id2label: { "0": "value" }, label2id: { value: 0 } });
    expect(config["architectures"]).toEqual([expect.stringMatching(/ForTokenClassification$/)]);
    for (const options of [{}, { adapter }]) {
      const create = () => engine.createPolicy({ name: "p", model: at("critic"), ...options });
      expect(await failure("bad_model", create)).toContain("contains a critic");
    }
    cpSync(at("critic"), at("labels"), { recursive: true });
    writeFileSync(
      at("labels", "config.json"),
      JSON.stringify({ ...config, id2label: { "0": "no", "1": "yes" } }),
    );
    const create = () => engine.createPolicy({ name: "d", model: at("labels"), valueHead: true });
    expect(await failure("bad_model", create)).toContain("id2label");
  });

  test("is a base for adapters that start with its head", async () => {
    await engine.createPolicy({ name: "a", model: at("critic"), valueHead: true, adapter });
    const values = await valuesOf(engine, "c");
    expect(await valuesOf(engine, "a")).toEqual(values);
    await learn(engine, "a", 1);
    expect(await valuesOf(engine, "a")).not.toEqual(values);
    const stored = await openSafetensors(at("critic", "model.safetensors"));
    expect(await engine.readTensor("c", "weight", "score.bias")).toEqual(
      await readTensor(stored, "score.bias"),
    );
  });
});
