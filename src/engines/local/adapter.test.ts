import { cpSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { failure, makeModel, temporaryFolder, tensorsOf, tinyPreset } from "../../models/test-model.ts";
import type { LocalEngine } from "./local-engine.ts";
import { adam, adapter, someDatum, testEngine, train, valued, snapshotAt } from "./test-engine.ts";

const folder = temporaryFolder();
const at = (...parts: string[]): string => join(folder, ...parts);
let model = "";

beforeAll(async () => {
  model = await makeModel(folder, "model");
  const engine = testEngine();
  await engine.createPolicy({ name: "a", model, adapter });
  await engine.export("a", at("fresh"));
});

/** A copy of what was saved of a fresh adapter, with other settings. */
function exported(name: string, settings: object): string {
  cpSync(at("fresh"), at(name), { recursive: true });
  const file = at(name, "adapter_config.json");
  writeFileSync(file, JSON.stringify({ ...JSON.parse(readFileSync(file, "utf8")), ...settings }));
  return at(name);
}

const logprobsOf = async (engine: LocalEngine, policy: string) =>
  (await engine.forward([someDatum(policy)])).logprobs;

describe("an adapter", () => {
  test("is saved in the PEFT layout and loaded again, bit for bit", async () => {
    const engine = testEngine();
    await engine.createPolicy({ name: "a", model, adapter });
    await train(engine, "a", 3);
    await engine.export("a", at("adapter"));
    expect(JSON.parse(readFileSync(at("adapter", "adapter_config.json"), "utf8"))).toMatchObject({
      peft_type: "LORA",
      r: 3,
      lora_alpha: 6,
      target_modules: ["o_proj", "q_proj", "up_proj"],
      base_model_name_or_path: model,
    });
    for (const name of ["tokenizer.json", "tokenizer_config.json"])
      expect(readFileSync(at("adapter", name))).toEqual(readFileSync(join(model, name)));
    const names = Object.keys(await tensorsOf(at("adapter", "adapter_model.safetensors")));
    expect(names).toHaveLength(2 * 3 * tinyPreset.layers);
    expect(names).toContain("base_model.model.model.layers.0.self_attn.q_proj.lora_A.weight");
    await engine.createPolicy({ name: "b", model, adapter: { ...adapter, seed: 9 } });
    await engine.restore("b", snapshotAt(at("adapter")));
    expect(await logprobsOf(engine, "b")).toEqual(await logprobsOf(engine, "a"));
  });

  test.each([
    ["r is 3; expected 4", { rank: 4 }],
    ["lora_alpha is 6", { alpha: 8 }],
    ["target_modules", { targetModules: ["q_proj"] }],
    ["use_dora is true", {}],
  ])("of another kind is rejected: %s", async (fragment, change) => {
    const engine = testEngine();
    const place = exported(
      `refused ${fragment.slice(0, 8)}`,
      fragment === "use_dora is true" ? { use_dora: true } : {},
    );
    await engine.createPolicy({ name: "b", model, adapter: { ...adapter, ...change } });
    expect(await failure("bad_model", () => engine.restore("b", snapshotAt(place)))).toContain(fragment);
  });
});

describe("a policy that starts from an adapter's directory", () => {
  const peft = join("tests", "fixtures", "models", "lora");

  test("continues it on its shared base, and is saved as an adapter again", async () => {
    const engine = testEngine();
    await engine.createPolicy({ name: "a", model, adapter });
    await train(engine, "a", 3);
    await engine.export("a", at("begun"));
    const before = engine.memoryBytes;
    const info = await engine.createPolicy({ name: "b", model: at("begun") });
    expect(info).toEqual({ ...(await engine.createPolicy({ name: "fresh", model, adapter })), name: "b" });
    expect(engine.memoryBytes - before).toBeLessThan((info.parameters - info.trainableParameters) * 4);
    expect(await logprobsOf(engine, "b")).toEqual(await logprobsOf(engine, "a"));
    await engine.export("b", at("again"));
    expect(await tensorsOf(at("again", "adapter_model.safetensors"))).toEqual(
      await tensorsOf(at("begun", "adapter_model.safetensors")),
    );
    expect(readFileSync(at("again", "adapter_config.json"), "utf8")).toBe(
      readFileSync(at("begun", "adapter_config.json"), "utf8"),
    );
  });

  test("reads what PEFT wrote, with a base path relative to its folder", async () => {
    const engine = testEngine();
    await engine.createPolicy({ name: "a", model: peft });
    const settings = {
      rank: 3,
      alpha: 12,
      targetModules: ["q_proj", "v_proj", "o_proj", "gate_proj", "down_proj"],
    };
    const base = join(peft, "..", "llama-grouped-tied");
    await engine.createPolicy({ name: "b", model: base, adapter: { ...settings, seed: 1 } });
    expect(await logprobsOf(engine, "b")).not.toEqual(await logprobsOf(engine, "a"));
    await engine.restore("b", snapshotAt(peft));
    expect(await logprobsOf(engine, "b")).toEqual(await logprobsOf(engine, "a"));
  });

  test("is a critic that starts with the policy's matrices and a head of zero", async () => {
    const engine = testEngine();
    await engine.createPolicy({ name: "a", model, adapter });
    await train(engine, "a", 3);
    await engine.export("a", at("judged"));
    await engine.createPolicy({ name: "c", model: at("judged"), valueHead: true });
    const matrix = "base_model.model.model.layers.1.mlp.up_proj.lora_B.weight";
    const [own, critics] = [
      await engine.readTensor("a", "weight", matrix),
      await engine.readTensor("c", "weight", matrix),
    ];
    expect(critics).toEqual(own);
    expect(critics.some((value) => value !== 0)).toBe(true);
    expect((await engine.forward([valued("c")])).values).toEqual([new Float32Array(3), new Float32Array(2)]);
    await engine.forwardBackward([valued("c")], { type: "value" });
    await engine.optimStep("c", adam);
    await engine.export("c", at("critic"));
    await engine.createPolicy({ name: "d", model: at("critic"), valueHead: true });
    expect((await engine.forward([valued("d")])).values).toEqual(
      (await engine.forward([valued("c")])).values,
    );
    expect(
      await failure("bad_model", () => engine.createPolicy({ name: "e", model: at("critic") })),
    ).toContain("modules_to_save");
  });

  test("is found after the run's folder was moved, and outside a run by its absolute path", async () => {
    const run = at("run");
    mkdirSync(join(run, "checkpoints"), { recursive: true });
    writeFileSync(join(run, "recipe.yaml"), "");
    cpSync(model, join(run, "models", "nano"), { recursive: true });
    const engine = testEngine();
    await engine.createPolicy({ name: "a", model: join(run, "models", "nano"), adapter });
    await train(engine, "a", 1);
    await engine.export("a", join(run, "checkpoints", "a"));
    await engine.createPolicy({ name: "elsewhere", model, adapter });
    await engine.export("elsewhere", join(run, "checkpoints", "elsewhere"));
    renameSync(run, at("moved"));
    const moved = (name: string): string => at("moved", "checkpoints", name);
    const nameOf = (name: string): unknown =>
      JSON.parse(readFileSync(join(moved(name), "adapter_config.json"), "utf8")).base_model_name_or_path;
    expect(nameOf("a")).toBe(join("..", "..", "models", "nano"));
    expect(nameOf("elsewhere")).toBe(model);
    await engine.createPolicy({ name: "b", model: moved("a") });
    expect(await logprobsOf(engine, "b")).toEqual(await logprobsOf(engine, "a"));
    await engine.createPolicy({ name: "c", model: moved("elsewhere") });
  });

  describe("is rejected in one message, and leaves nothing behind:", () => {
    const engine = testEngine();
    beforeAll(() => engine.createPolicy({ name: "a", model, adapter }));

    test.each<readonly [string, object, object | null]>([
      ['names the base "meta/llama", but no model', { base_model_name_or_path: "meta/llama" }, null],
      ["names the base null, but no model", { base_model_name_or_path: null }, null],
      ['target_modules is ".*_proj"; expected a list', { target_modules: ".*_proj" }, null],
      ['target_modules is ["lm_head"]', { target_modules: ["lm_head"] }, null],
      ['peft_type is "IA3"', { peft_type: "IA3" }, null],
      ["r is 0", { r: 0 }, null],
      ["r is 3; expected 8, the policy's rank", {}, { rank: 8 }],
      ["target_modules is", {}, { targetModules: ["q_proj"] }],
    ])("%s", async (fragment, settings, change) => {
      const place = exported(fragment.replaceAll(/\W/g, ""), settings);
      const before = engine.memoryBytes;
      const more = change === null ? {} : { adapter: { ...adapter, ...change } };
      const message = await failure("bad_model", () =>
        engine.createPolicy({ name: "b", model: place, ...more }),
      );
      expect(message).toContain(fragment);
      expect(message).toContain(place);
      await expect.poll(() => engine.memoryBytes).toBe(before);
    });

    test("a base of another shape", async () => {
      const wide = await makeModel(folder, "wide", { preset: { ...tinyPreset, intermediateSize: 64 } });
      const place = exported("misfit", { base_model_name_or_path: wide });
      // Adapters of other programs have no record of their base's weights.
      rmSync(join(place, "base_digests.json"));
      const message = await failure("bad_model", () => engine.createPolicy({ name: "b", model: place }));
      expect(message).toMatch(/has the shape \[48, 3\]; expected \[64, 3\].*Its base is .*wide; was it/);
      await engine.createPolicy({ name: "b", model: wide, adapter });
    });

    test("that and no base is left in memory after the last policy", async () => {
      for (const name of ["a", "b"]) await engine.removePolicy(name);
      await expect.poll(() => engine.memoryBytes).toBe(0);
    });
  });
});
