import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { openSafetensors, readTensor } from "../../models/safetensors.ts";
import { writeSafetensors } from "../../models/safetensors-write.ts";
import { failure, makeModel, tensorsOf, temporaryFolder } from "../../models/test-model.ts";
import { someDatum, testEngine, train, snapshotAt } from "./test-engine.ts";

const folder = temporaryFolder();
const at = (...parts: string[]): string => join(folder, ...parts);
let model = "";

beforeAll(async () => {
  model = await makeModel(folder, "model");
});

describe("a whole model", () => {
  test("is saved as it was loaded, bit for bit, tokenizer included", async () => {
    const engine = testEngine();
    await engine.createPolicy({ name: "p", model });
    await engine.export("p", at("round"));
    expect(await tensorsOf(at("round", "model.safetensors"))).toEqual(
      await tensorsOf(join(model, "model.safetensors")),
    );
    expect(readdirSync(at("round")).toSorted()).toEqual(readdirSync(model).toSorted());
    for (const file of ["config.json", "tokenizer.json", "tokenizer_config.json"]) {
      expect(readFileSync(at("round", file), "utf8")).toBe(readFileSync(join(model, file), "utf8"));
    }
  });

  test("after training gives the same log-probabilities when loaded", async () => {
    const engine = testEngine();
    await engine.createPolicy({ name: "p", model });
    const untrained = await engine.forward([someDatum("p")]);
    await train(engine, "p", 3);
    const trained = await engine.forward([someDatum("p")]);
    expect(trained.logprobs).not.toEqual(untrained.logprobs);
    await engine.export("p", at("trained"));
    await engine.createPolicy({ name: "q", model: at("trained") });
    expect((await engine.forward([someDatum("q")])).logprobs).toEqual(trained.logprobs);
    await engine.restore("q", snapshotAt(model));
    expect((await engine.forward([someDatum("q")])).logprobs).toEqual(untrained.logprobs);
  });

  test("that could be restored only in part accepts nothing but another restore, or its removal", async () => {
    const engine = testEngine();
    await engine.createPolicy({ name: "p", model });
    await train(engine, "p", 2);
    const trained = await engine.snapshot("p", { folder, name: "whole" });
    const before = await engine.forward([someDatum("p")]);
    cpSync(model, at("spoilt"), { recursive: true });
    const file = at("spoilt", "model.safetensors");
    const bytes = readFileSync(file);
    // The last number of the file, in F32.
    bytes.writeFloatLE(Number.NaN, bytes.length - 4);
    writeFileSync(file, bytes);
    expect(await failure("bad_model", () => engine.restore("p", snapshotAt(at("spoilt"))))).toContain(
      "are not finite",
    );
    for (const verb of [
      () => engine.forward([someDatum("p")]),
      () => engine.snapshot("p", { folder, name: "mixed" }),
    ])
      expect(await failure("bad_model", verb)).toMatch(
        /The weights of the policy "p" are incomplete, .*spoilt failed/,
      );
    await engine.restore("p", { saved: trained, folder });
    expect((await engine.forward([someDatum("p")])).logprobs).toEqual(before.logprobs);
    await failure("bad_model", () => engine.restore("p", snapshotAt(at("spoilt"))));
    await engine.removePolicy("p");
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

  test.each(["BF16", "F16"] as const)("in %s is rounded by the first save only", async (format) => {
    const engine = testEngine();
    await engine.createPolicy({ name: "p", model });
    await engine.export("p", at(`once-${format}`), { format });
    expect(JSON.parse(readFileSync(at(`once-${format}`, "config.json"), "utf8")).torch_dtype).toBe(
      format === "BF16" ? "bfloat16" : "float16",
    );
    await engine.createPolicy({ name: "q", model: at(`once-${format}`) });
    await engine.export("q", at(`twice-${format}`), { format });
    const once = readFileSync(at(`once-${format}`, "model.safetensors"));
    expect(readFileSync(at(`twice-${format}`, "model.safetensors"))).toEqual(once);
  });

  test("replaces an earlier save and nothing else", async () => {
    const engine = testEngine();
    await engine.createPolicy({ name: "p", model });
    await engine.export("p", at("again"));
    await train(engine, "p", 1);
    await engine.export("p", at("again"));
    await engine.createPolicy({ name: "q", model: at("again") });
    expect((await engine.forward([someDatum("q")])).logprobs).toEqual(
      (await engine.forward([someDatum("p")])).logprobs,
    );
    mkdirSync(at("precious"));
    writeFileSync(at("precious", "thesis.txt"), "years of work");
    expect(await failure("bad_arguments", () => engine.export("p", at("precious")))).toContain(
      "not an earlier save",
    );
    expect(readdirSync(at("precious"))).toEqual(["thesis.txt"]);
    expect(readdirSync(folder).filter((name) => name.startsWith(".tmp-"))).toEqual([]);
  });

  test("can be saved after its source directory was removed", async () => {
    cpSync(model, at("fleeting"), { recursive: true });
    const engine = testEngine();
    await engine.createPolicy({ name: "p", model: at("fleeting") });
    rmSync(at("fleeting"), { recursive: true });
    await engine.export("p", at("kept"));
    expect(existsSync(at("kept", "tokenizer.json"))).toBe(true);
  });
});

function edit(directory: string, change: object): void {
  const file = join(directory, "config.json");
  writeFileSync(file, JSON.stringify({ ...JSON.parse(readFileSync(file, "utf8")), ...change }));
}

describe("a damaged model directory is rejected, and the engine continues", () => {
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
      "has no model.safetensors; weights are expected in the safetensors format: fetch",
    ],
    [
      "weights as PyTorch pickles them",
      (directory) => renameSync(join(directory, "model.safetensors"), join(directory, "pytorch_model.bin")),
      "convert pytorch_model.bin",
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
      "an absurd number of layers in config.json",
      (directory) => edit(directory, { num_hidden_layers: 2 ** 24 }),
      "num_hidden_layers is 16777216; expected a whole number from 1 to 4096",
    ],
    [
      "absurdly large heads in config.json",
      (directory) => edit(directory, { head_dim: 2 ** 24 }),
      "head_dim is 16777216; expected a whole number from 1 to 4096",
    ],
    [
      "a folder instead of its tokenizer",
      (directory) => {
        rmSync(join(directory, "tokenizer.json"));
        mkdirSync(join(directory, "tokenizer.json"));
      },
      "tokenizer.json is a folder",
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
    expect(await failure("bad_model", () => engine.restore("p", snapshotAt(directory)))).toContain(directory);
    expect((await engine.forward([someDatum("p")])).logprobs).toEqual(before.logprobs);
  });
});
