import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import type { PolicyName } from "../engine.ts";
import type { LocalEngine } from "./local-engine.ts";
import { openSafetensors, readTensor } from "./safetensors.ts";
import { writeSafetensors } from "./safetensors-write.ts";
import {
  adam,
  failure,
  makeModel,
  someDatum,
  temporaryFolder,
  testEngine,
  tinyPreset,
} from "./test-model.ts";

const folder = temporaryFolder();
const adapter = { rank: 3, alpha: 6, targetModules: ["q_proj", "o_proj", "up_proj"], seed: 4 };
const at = (...parts: string[]): string => join(folder, ...parts);
let model = "";

beforeAll(async () => {
  model = await makeModel(folder, "model");
});

async function train(engine: LocalEngine, policy: PolicyName, steps: number): Promise<number[]> {
  const losses: number[] = [];
  for (let step = 0; step < steps; step++) {
    losses.push((await engine.forwardBackward([someDatum(policy, step)], { type: "cross_entropy" })).loss);
    await engine.optimStep(policy, adam);
  }
  return losses;
}

async function tensorsOf(file: string): Promise<Record<string, Float32Array>> {
  const opened = await openSafetensors(file);
  const entries = await Promise.all(
    [...opened.tensors.keys()].map(async (name) => [name, await readTensor(opened, name)]),
  );
  return Object.fromEntries(entries);
}

describe("a whole model", () => {
  test("is saved as it was loaded, bit for bit, tokenizer included", async () => {
    const engine = testEngine();
    await engine.createPolicy({ name: "p", model });
    await engine.save("p", at("round"));
    expect(await tensorsOf(at("round", "model.safetensors"))).toEqual(
      await tensorsOf(join(model, "model.safetensors")),
    );
    expect(readdirSync(at("round")).toSorted()).toEqual(readdirSync(model).toSorted());
    for (const file of ["config.json", "tokenizer.json", "tokenizer_config.json"]) {
      expect(readFileSync(at("round", file), "utf8")).toBe(readFileSync(join(model, file), "utf8"));
    }
  });

  test("after training gives the same log-probabilities from its directory, and by load", async () => {
    const engine = testEngine();
    await engine.createPolicy({ name: "p", model });
    const untrained = await engine.forward([someDatum("p")]);
    await train(engine, "p", 3);
    const trained = await engine.forward([someDatum("p")]);
    expect(trained.logprobs).not.toEqual(untrained.logprobs);
    await engine.save("p", at("trained"));
    await engine.createPolicy({ name: "q", model: at("trained") });
    expect((await engine.forward([someDatum("q")])).logprobs).toEqual(trained.logprobs);
    await engine.load("q", model);
    expect((await engine.forward([someDatum("q")])).logprobs).toEqual(untrained.logprobs);
  });

  test("is read from shards", async () => {
    cpSync(model, at("sharded"), { recursive: true });
    const whole = await openSafetensors(join(model, "model.safetensors"));
    const list = [...whole.tensors.values()].map(({ name, shape }) => ({
      name,
      shape,
      values: () => readTensor(whole, name),
    }));
    const shards = [list.slice(0, 5), list.slice(5, 11), list.slice(11)];
    const places: Record<string, string> = {};
    for (const [i, tensors] of shards.entries()) {
      await writeSafetensors(at("sharded", `model-${i}.safetensors`), tensors);
      for (const { name } of tensors) places[name] = `model-${i}.safetensors`;
    }
    writeFileSync(at("sharded", "model.safetensors.index.json"), JSON.stringify({ weight_map: places }));
    rmSync(at("sharded", "model.safetensors"));
    const engine = testEngine();
    await engine.createPolicy({ name: "p", model });
    await engine.createPolicy({ name: "q", model: at("sharded") });
    expect((await engine.forward([someDatum("q")])).logprobs).toEqual(
      (await engine.forward([someDatum("p")])).logprobs,
    );
  });

  test.each(["BF16", "F16"] as const)(
    "in %s is saved rounded once, and then stays the same",
    async (format) => {
      const engine = testEngine();
      await engine.createPolicy({ name: "p", model });
      await engine.save("p", at(`once-${format}`), { format });
      expect(JSON.parse(readFileSync(at(`once-${format}`, "config.json"), "utf8")).torch_dtype).toBe(
        format === "BF16" ? "bfloat16" : "float16",
      );
      await engine.createPolicy({ name: "q", model: at(`once-${format}`) });
      await engine.save("q", at(`twice-${format}`), { format });
      const once = readFileSync(at(`once-${format}`, "model.safetensors"));
      expect(readFileSync(at(`twice-${format}`, "model.safetensors"))).toEqual(once);
    },
  );

  test("replaces an earlier save and nothing else", async () => {
    const engine = testEngine();
    await engine.createPolicy({ name: "p", model });
    await engine.save("p", at("again"));
    await train(engine, "p", 1);
    await engine.save("p", at("again"));
    await engine.createPolicy({ name: "q", model: at("again") });
    expect((await engine.forward([someDatum("q")])).logprobs).toEqual(
      (await engine.forward([someDatum("p")])).logprobs,
    );
    mkdirSync(at("precious"));
    writeFileSync(at("precious", "thesis.txt"), "years of work");
    expect(await failure("bad_arguments", () => engine.save("p", at("precious")))).toContain(
      "not an earlier save",
    );
    expect(readdirSync(at("precious"))).toEqual(["thesis.txt"]);
    expect(readdirSync(folder).filter((name) => name.startsWith(".tmp-"))).toEqual([]);
  });

  test("can be saved when the directory it came from has gone", async () => {
    cpSync(model, at("fleeting"), { recursive: true });
    const engine = testEngine();
    await engine.createPolicy({ name: "p", model: at("fleeting") });
    rmSync(at("fleeting"), { recursive: true });
    await engine.save("p", at("kept"));
    expect(existsSync(at("kept", "tokenizer.json"))).toBe(true);
  });
});

describe("an adapter", () => {
  test("is saved in the PEFT layout and loaded again, bit for bit", async () => {
    const engine = testEngine();
    await engine.createPolicy({ name: "a", model, adapter });
    await train(engine, "a", 3);
    await engine.save("a", at("adapter"));
    expect(JSON.parse(readFileSync(at("adapter", "adapter_config.json"), "utf8"))).toMatchObject({
      peft_type: "LORA",
      r: 3,
      lora_alpha: 6,
      target_modules: ["o_proj", "q_proj", "up_proj"],
      base_model_name_or_path: model,
    });
    const names = Object.keys(await tensorsOf(at("adapter", "adapter_model.safetensors")));
    expect(names).toHaveLength(2 * 3 * tinyPreset.layers);
    expect(names).toContain("base_model.model.model.layers.0.self_attn.q_proj.lora_A.weight");
    await engine.createPolicy({ name: "b", model, adapter: { ...adapter, seed: 9 } });
    await engine.load("b", at("adapter"));
    expect((await engine.forward([someDatum("b")])).logprobs).toEqual(
      (await engine.forward([someDatum("a")])).logprobs,
    );
  });

  test.each([
    ["another rank", { rank: 4 }, "r is 3; expected 4"],
    ["another alpha", { alpha: 8 }, "lora_alpha is 6"],
    ["other targets", { targetModules: ["q_proj"] }, "target_modules"],
  ])("for %s is refused", async (_, change, fragment) => {
    const engine = testEngine();
    await engine.createPolicy({ name: "a", model, adapter });
    await engine.save("a", at("refused"));
    await engine.createPolicy({ name: "b", model, adapter: { ...adapter, ...change } });
    expect(await failure("bad_model", () => engine.load("b", at("refused")))).toContain(fragment);
  });

  test("of a kind whose arithmetic differs is refused", async () => {
    const engine = testEngine();
    await engine.createPolicy({ name: "a", model, adapter });
    await engine.save("a", at("dora"));
    const file = at("dora", "adapter_config.json");
    writeFileSync(file, JSON.stringify({ ...JSON.parse(readFileSync(file, "utf8")), use_dora: true }));
    expect(await failure("bad_model", () => engine.load("a", at("dora")))).toContain("use_dora is true");
  });
});

describe("training that is resumed", () => {
  test.each([
    ["a whole model", undefined],
    ["an adapter", adapter],
  ])("of %s takes the same steps as training that was not interrupted", async (_, options) => {
    const more = options === undefined ? {} : { adapter: options };
    const name = options === undefined ? "whole" : "adapter";
    const straight = testEngine();
    await straight.createPolicy({ name: "p", model, ...more });
    await train(straight, "p", 3);
    await straight.save("p", at(`resume-${name}`));
    await straight.saveOptimizer("p", at(`resume-${name}.optimizer`));
    const resumed = testEngine();
    await resumed.createPolicy({ name: "p", model, ...more });
    await resumed.load("p", at(`resume-${name}`));
    await resumed.loadOptimizer("p", at(`resume-${name}.optimizer`));
    expect(await train(resumed, "p", 4)).toEqual(await train(straight, "p", 4));
    expect((await resumed.forward([someDatum("p")])).logprobs).toEqual(
      (await straight.forward([someDatum("p")])).logprobs,
    );
  });

  test("without its optimizer takes other steps: the state matters", async () => {
    const engine = testEngine();
    await engine.createPolicy({ name: "p", model });
    await train(engine, "p", 3);
    await engine.save("p", at("forgetful"));
    await engine.createPolicy({ name: "q", model: at("forgetful") });
    await train(engine, "p", 1);
    await train(engine, "q", 1);
    expect((await engine.forward([someDatum("q")])).logprobs).not.toEqual(
      (await engine.forward([someDatum("p")])).logprobs,
    );
  });

  test("from a file for other weights, a damaged one or none is refused", async () => {
    const engine = testEngine();
    await engine.createPolicy({ name: "p", model });
    await engine.createPolicy({ name: "a", model, adapter });
    await engine.saveOptimizer("a", at("other.optimizer"));
    expect(await failure("bad_model", () => engine.loadOptimizer("p", at("other.optimizer")))).toContain(
      "moment1.model",
    );
    expect(
      await failure("bad_model", () => engine.loadOptimizer("p", join(model, "model.safetensors"))),
    ).toContain("not an optimizer");
    expect(await failure("bad_model", () => engine.loadOptimizer("p", at("none")))).toContain(
      "cannot be opened",
    );
    truncateSync(at("other.optimizer"), 1000);
    expect(await failure("bad_model", () => engine.loadOptimizer("a", at("other.optimizer")))).toContain(
      "other.optimizer",
    );
  });
});

function edit(directory: string, change: object): void {
  const file = join(directory, "config.json");
  writeFileSync(file, JSON.stringify({ ...JSON.parse(readFileSync(file, "utf8")), ...change }));
}

describe("a damaged model directory is refused, and the engine goes on", () => {
  const damage: [string, (directory: string) => void, string][] = [
    ["no config.json", (directory) => rmSync(join(directory, "config.json")), "config.json does not exist"],
    [
      "a config.json that is cut off",
      (directory) => truncateSync(join(directory, "config.json"), 40),
      "not valid JSON",
    ],
    [
      "no weights",
      (directory) => rmSync(join(directory, "model.safetensors")),
      "model.safetensors cannot be opened",
    ],
    [
      "weights that are cut off",
      (directory) => truncateSync(join(directory, "model.safetensors"), 9_000),
      "copy it again",
    ],
    [
      "another shape in config.json",
      (directory) => edit(directory, { intermediate_size: 64 }),
      "has the shape [48, 32]; expected [64, 32]",
    ],
    [
      "more layers in config.json",
      (directory) => edit(directory, { num_hidden_layers: 3 }),
      "no tensor model.layers.2",
    ],
    [
      "fewer layers in config.json",
      (directory) => edit(directory, { num_hidden_layers: 1 }),
      "which this model does not have",
    ],
    [
      "untied embeddings in config.json",
      (directory) => edit(directory, { tie_word_embeddings: false }),
      "no tensor lm_head.weight",
    ],
    [
      "an unknown architecture",
      (directory) => edit(directory, { architectures: ["BertModel"] }),
      "LlamaForCausalLM, MistralForCausalLM",
    ],
  ];

  test.each(damage)("%s", async (name, harm, fragment) => {
    const directory = at("damaged", name);
    cpSync(model, directory, { recursive: true });
    harm(directory);
    const engine = testEngine();
    expect(await failure("bad_model", () => engine.createPolicy({ name: "p", model: directory }))).toContain(
      fragment,
    );
    await engine.createPolicy({ name: "p", model });
    const before = await engine.forward([someDatum("p")]);
    expect(await failure("bad_model", () => engine.load("p", directory))).toContain(directory);
    expect((await engine.forward([someDatum("p")])).logprobs).toEqual(before.logprobs);
  });
});
