import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { openSafetensors, readTensor } from "../../models/safetensors.ts";
import { writeSafetensors } from "../../models/safetensors-write.ts";
import { failure, makeModel, temporaryFolder } from "../../models/test-model.ts";
import type { LocalEngine } from "./local-engine.ts";
import { adapter, request, someDatum, testEngine, train, snapshotAt } from "./test-engine.ts";

const folder = temporaryFolder();
const at = (...parts: string[]): string => join(folder, ...parts);
let model = "";

beforeAll(async () => {
  model = await makeModel(folder, "model");
});

const logprobsOf = async (engine: LocalEngine, policy: string) =>
  (await engine.forward([someDatum(policy)])).logprobs;

describe("a whole model", () => {
  test("is saved with its settings and tokenizer", async () => {
    const engine = testEngine();
    await engine.createPolicy({ name: "p", model });
    await engine.export("p", at("round"));
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
    expect(await logprobsOf(engine, "q")).toEqual(trained.logprobs);
    // Without the optimizer's state, the next step is another one.
    for (const name of ["p", "q"]) await train(engine, name, 1);
    expect(await logprobsOf(engine, "q")).not.toEqual(await logprobsOf(engine, "p"));
    await engine.restore("q", snapshotAt(model));
    expect(await logprobsOf(engine, "q")).toEqual(untrained.logprobs);
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
    expect(await logprobsOf(engine, "p")).toEqual(before.logprobs);
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
    expect(await logprobsOf(engine, "q")).toEqual(await logprobsOf(engine, "p"));
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
    expect(await logprobsOf(engine, "q")).toEqual(await logprobsOf(engine, "p"));
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

type Harm = (directory: string) => unknown;
const removed =
  (file: string): Harm =>
  (directory) =>
    rmSync(join(directory, file));
const cut =
  (file: string, bytes: number): Harm =>
  (directory) =>
    truncateSync(join(directory, file), bytes);
const edited =
  (change: object): Harm =>
  (directory) => {
    const file = join(directory, "config.json");
    writeFileSync(file, JSON.stringify({ ...JSON.parse(readFileSync(file, "utf8")), ...change }));
  };
const pickled: Harm = (directory) =>
  renameSync(join(directory, "model.safetensors"), join(directory, "pytorch_model.bin"));
const withFolder: Harm = (directory) => {
  rmSync(join(directory, "tokenizer.json"));
  mkdirSync(join(directory, "tokenizer.json"));
};

describe("a damaged model directory is rejected, and the engine continues:", () => {
  const engine = testEngine();
  beforeAll(() => engine.createPolicy({ name: "p", model }));

  test.each<readonly [string, Harm]>([
    ["config.json does not exist", removed("config.json")],
    ["not valid JSON", cut("config.json", 40)],
    [
      "has no model.safetensors; weights are expected in the safetensors format: fetch",
      removed("model.safetensors"),
    ],
    ["convert pytorch_model.bin", pickled],
    ["copy it again", cut("model.safetensors", 9_000)],
    ["has the shape [48, 32]; expected [64, 32]", edited({ intermediate_size: 64 })],
    ["no tensor model.layers.2", edited({ num_hidden_layers: 3 })],
    ["num_hidden_layers is 16777216; expected a whole", edited({ num_hidden_layers: 2 ** 24 })],
    ["head_dim is 16777216; expected a whole number from 1 to 4096", edited({ head_dim: 2 ** 24 })],
    ["tokenizer.json is a folder", withFolder],
    ["which this model does not have", edited({ num_hidden_layers: 1 })],
    ["no tensor lm_head.weight", edited({ tie_word_embeddings: false })],
    ["LlamaForCausalLM, MistralForCausalLM", edited({ architectures: ["BertModel"] })],
  ])("%s", async (fragment, harm) => {
    const directory = at("damaged", fragment.slice(0, 20));
    cpSync(model, directory, { recursive: true });
    harm(directory);
    const create = () => engine.createPolicy({ name: "q", model: directory });
    expect(await failure("bad_model", create)).toContain(fragment);
    const before = await engine.forward([someDatum("p")]);
    expect(await failure("bad_model", () => engine.restore("p", snapshotAt(directory)))).toContain(directory);
    expect(await logprobsOf(engine, "p")).toEqual(before.logprobs);
  });
});

describe("training that is resumed", () => {
  test("from a file for other weights, a damaged or a missing one is rejected", async () => {
    const engine = testEngine();
    await engine.createPolicy({ name: "p", model });
    await engine.createPolicy({ name: "a", model, adapter });
    const saved = await engine.checkpoint("p", { folder, name: "p" });
    const other = await engine.checkpoint("a", { folder, name: "a" });
    const message = () => failure("bad_model", () => engine.restore("p", { saved, folder }));
    copyFileSync(at("a.optimizer"), at("p.optimizer"));
    expect(await message()).toContain("moment1.model");
    copyFileSync(join(model, "model.safetensors"), at("p.optimizer"));
    expect(await message()).toContain("not an optimizer");
    rmSync(at("p.optimizer"));
    expect(await message()).toContain("cannot be opened");
    truncateSync(at("a.optimizer"), 1000);
    expect(await failure("bad_model", () => engine.restore("a", { saved: other, folder }))).toContain(
      "a.optimizer",
    );
  });

  test("from a checkpoint that does not fit changes nothing", async () => {
    const engine = testEngine();
    await engine.createPolicy({ name: "p", model });
    const saved = await engine.checkpoint("p", { folder, name: "whole-but" });
    truncateSync(at("whole-but.optimizer"), 1000);
    await train(engine, "p", 1);
    const before = await engine.forward([someDatum("p")]);
    await failure("bad_model", () => engine.restore("p", { saved, folder }));
    expect(await engine.forward([someDatum("p")])).toEqual(before);
    expect((await engine.sample(request()))[0]?.policyVersion).toBe(1);
  });

  test("a checkpoint replaces an earlier one, and nothing else", async () => {
    const engine = testEngine();
    await engine.createPolicy({ name: "p", model });
    await engine.checkpoint("p", { folder, name: "again" });
    await engine.checkpoint("p", { folder, name: "again" });
    const save = (name: string) => () => engine.checkpoint("p", { folder, name });
    writeFileSync(at("mine.optimizer"), "notes");
    symlinkSync("/dev/null", at("device.optimizer"));
    for (const name of ["mine", "device"]) {
      expect(await failure("bad_arguments", save(name))).toContain("not an optimizer's state");
      expect(existsSync(at(name))).toBe(false);
    }
    expect(readFileSync(at("mine.optimizer"), "utf8")).toBe("notes");
  });

  test("the name of a save must be a file name", async () => {
    const engine = testEngine();
    await engine.createPolicy({ name: "p", model });
    for (const name of ["", ".", "..", "a/b", "/tmp"])
      expect(await failure("bad_arguments", () => engine.snapshot("p", { folder, name }))).toContain(
        "file name",
      );
  });
});
