import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { builtInCatalog } from "../catalog.ts";
import { loadTree } from "../load.ts";
import { shippedRecipes } from "../shipped.ts";
import { plainOf } from "../tree.ts";
import { showWarning } from "../validation/warnings.ts";
import { applyEveryOverride } from "./apply.ts";
import { valueAt } from "./conversions.ts";

type Plain = Readonly<Record<string, unknown>>;

async function overridden(recipe: string, ...overrides: string[]) {
  const base = loadTree(shippedRecipes()[`code/${recipe}`] ?? "");
  const { tree, warnings } = await applyEveryOverride(base, overrides, builtInCatalog);
  return { recipe: plainOf(tree) as Plain, warnings: warnings.map(showWarning) };
}

/** The values at the keys. */
async function valuesOf(
  recipe: string,
  overrides: readonly string[],
  keys: readonly string[],
): Promise<Plain> {
  const found = (await overridden(recipe, ...overrides)).recipe;
  return Object.fromEntries(keys.map((key) => [key, valueAt(found, key)]));
}

const models = (name: string) => ({
  "policies.helper.model.path": name,
  "policies.main.model.path": name,
});

describe("published keys", () => {
  // oxfmt-ignore
  it.each<[string, string[], Plain]>([
    // The examples of the published README.
    ["magrpo-he", ["model_name=bigcode/starcoder2-3b"], models("models/starcoder2-3b")],
    ["grpo-che", ["grpo.num_train_epochs=20", "grpo.learning_rate=3e-5"], { "train.steps": 1000, "train.learningRate": 3e-5 }],
    [
      "mt-magrpo-che",
      [
        "dataset.train_split=test[:20]",
        "dataset.eval_split='test[20:30]'",
        "magrpo.num_turns=2",
        "magrpo.turn_gradient_weights=[1.5,0.5]",
      ],
      {
        "environment.splits": { train: "test[:20]", heldOut: "test[20:30]" },
        "team.turns": 2,
        "algorithm.turnWeights": [1.5, 0.5],
        // 10 epochs.
        "train.steps": 200,
      },
    ],
    [
      "mt-magrpo-che",
      ["magrpo.num_turns=2", "magrpo.external_mode='level_feedback'", "magrpo.sandbox_slice=-2"],
      { "environment.feedback": "level_feedback", "environment.sandboxSlice": -2 },
    ],
    // All others.
    ["grpo-he", ["model.name=Qwen/Qwen2.5-Coder-7B"], { "policies.coder.model.path": "models/Qwen2.5-Coder-7B" }],
    ["magrpo-he", ["model.name='./mine'"], models("./mine")],
    ["magrpo-he", ["model.name=models/mine"], models("models/mine")],
    ["magrpo-he", ["model.temperature=0.5", "model.top_p=0.8"], { "train.temperature": 0.5, "train.topP": 0.8 }],
    ["magrpo-he", ["magrpo.temperature=0.4", "model.temperature=0.5"], { "train.temperature": 0.4 }],
    ["magrpo-he", ["magrpo.top_p=1", "magrpo.top_k=None"], { "train.topP": 1, "train.topK": 0 }],
    ["magrpo-he", ["dataset.name=LovelyBuggies/CoopHumaneval"], { "environment.dataset": "coophumaneval" }],
    ["magrpo-he", ["dataset.name=OpenMLRL/MBPP"], { "environment.dataset": { name: "mbpp", config: "sanitized" } }],
    ["magrpo-he", ["dataset.name=mbpp"], { "environment.dataset": "mbpp" }],
    ["magrpo-che", ["dataset.name=openai/openai_humaneval"], { "environment.dataset": "humaneval" }],
    ["magrpo-he", ["reward_processor.scale_factor=0.5"], { "algorithm.alpha": 2 }],
    ["grpo-he", ["reward_processor.scale_factor=2", "reward_processor.enabled=True"], { "algorithm.alpha": 4.2 }],
    ["magrpo-he", ["reward_processor.scale_factor=2", "reward_processor.enabled=False"], { "algorithm.alpha": 4 }],
    ["magrpo-he", ["magrpo.per_device_train_batch_size=4"], { "train.tasksPerStep": 4, "train.steps": 250 }],
    ["magrpo-he", ["magrpo.save_steps=50"], { "checkpoint.every": 50 }],
    ["magrpo-he", ["magrpo.num_generations=8"], { "algorithm.samples": 8 }],
    ["magrpo-he", ["magrpo.max_new_tokens=512"], { "team.roles.helper.maxTokens": 512, "team.roles.main.maxTokens": 512 }],
    ["magrpo-he", ["magrpo.num_agents=2"], { "team.turns": 1 }],
    [
      "magrpo-he",
      ["magrpo.num_turns=2"],
      {
        "team.turns": 2,
        "algorithm.handOver": "best",
        "algorithm.earlyEndWeight": 2,
        "algorithm.terminationThreshold": 3.999,
      },
    ],
    [
      "mt-magrpo-he",
      ["magrpo.num_turns=1", "magrpo.turn_gradient_weights=[1.0]"],
      {
        "team.turns": 1,
        "algorithm.turnWeights": undefined,
        "algorithm.handOver": undefined,
        "algorithm.earlyEndWeight": undefined,
        "algorithm.terminationThreshold": undefined,
      },
    ],
    ["mt-magrpo-he", ["magrpo.turn_gradient_weights=(1, 2)"], { "algorithm.turnWeights": [1, 2] }],
    ["mt-magrpo-he", ["magrpo.early_termination_weight=1.5"], { "algorithm.earlyEndWeight": 1.5 }],
    ["mt-magrpo-he", ["magrpo.early_termination_threshold=4.0"], { "algorithm.terminationThreshold": 3.999 }],
    ["mt-magrpo-he", ["magrpo.termination_threshold=-0.2"], { "algorithm.terminationThreshold": 3.8 }],
    ["mt-magrpo-he", ["magrpo.handoff=random"], { "algorithm.handOver": "random" }],
    ["magrpo-he", ["magrpo.joint_mode=crossed"], { "algorithm.joint": "cross" }],
    ["magrpo-he", ["magrpo.advantage_mode=rloo"], { "algorithm.name": "marloo" }],
    [
      "mt-magrpo-he",
      ["external.mode=expert_edits"],
      {
        "environment.feedback": "expert_edits",
        "environment.expert": { provider: "deepseek", model: "deepseek-coder" },
      },
    ],
    [
      "mt-magrpo-he",
      ["external.mode=expert_edits", "external.expert_model=claude-3-5-sonnet-20241022"],
      { "environment.expert": { provider: "anthropic", model: "claude-3-5-sonnet-20241022" } },
    ],
    [
      "mt-magrpo-he",
      [
        "environment.expert={provider: compatible, model: m, baseUrl: 'http://localhost/v1'}",
        "magrpo.expert_model=qwen3-coder",
      ],
      { "environment.expert": { provider: "dashscope", model: "qwen3-coder-plus" } },
    ],
    ["mt-magrpo-he", ["magrpo.sandbox_slice=None"], { "environment.sandboxSlice": 0 }],
    ["mt-magrpo-he", ["external.sandbox_slice=all"], { "environment.sandboxSlice": 0 }],
    [
      "mt-magrpo-he",
      ["external.original_prompt=False", "magrpo.external_previous_response=True"],
      { "environment.originalPrompt": false, "environment.previousResponse": true },
    ],
    ["mt-magrpo-he", ["external.memory_mode=full"], { "team.roles.main.memory": "conversation" }],
    ["magrpo-he", ["magrpo={'num_turns': 2, 'num_generations': 3 }"], { "team.turns": 2, "algorithm.samples": 3 }],
    ["magrpo-he", ["magrpo.seed=42"], { seed: 42 }],
  ])("%s %j", async (recipe, overrides, expected) => {
    expect(await valuesOf(recipe, overrides, Object.keys(expected))).toEqual(expected);
  });
});

describe("epochs become steps", () => {
  it.each<[string, string[], number]>([
    ["magrpo-he", ["magrpo.num_train_epochs=3"], 300],
    ["magrpo-he", ["dataset.train_split=test[33:163]"], 1300],
    ["magrpo-he", ["magrpo.num_train_epochs=2", "dataset.train_split=test[:25%]"], 82],
    ["magrpo-he", ["dataset.train_split=test[:20]", "magrpo.num_train_epochs=2", "train.tasksPerStep=8"], 5],
    ["magrpo-he", ["dataset.train_split=test[:20]", "train.steps=7"], 7],
    ["magrpo-he", ["train.steps=7", "dataset.train_split=test[:20]"], 7],
    ["magrpo-he", ["train.steps=7", "magrpo.num_train_epochs=2"], 200],
    ["magrpo-he", ["magrpo.num_train_epochs=2", "train.steps=7"], 7],
    // Our own keys change the data alone.
    ["magrpo-he", ["environment.splits.train=test[:20]"], 1000],
    ["magrpo-che", ["dataset.name=openai_humaneval", "dataset.train_split=test[:100]"], 2000],
  ])("%s %j: %i", async (recipe, overrides, steps) => {
    expect(await valuesOf(recipe, overrides, ["train.steps"])).toEqual({ "train.steps": steps });
  });

  it("a warning names the steps if only the data changed", async () => {
    const { warnings } = await overridden("magrpo-he", "dataset.train_split=test[:20]");
    expect(warnings).toEqual([
      "warning: train.steps: 200 instead of 1000, for 10 epochs of 20 problems; choose it yourself with train.steps=…",
    ]);
    expect((await overridden("magrpo-he", "magrpo.num_train_epochs=3")).warnings).toEqual([]);
  });
});

describe("published keys without effect", () => {
  it.each([
    ["wandb.project=x", "wandb.project: has no effect: `logging.wandb` sends metrics there; remove it"],
    ["grpo.logging_steps=10", "grpo.logging_steps: has no effect: every step is recorded; remove it"],
    [
      "model.model_kwargs.torch_dtype=bfloat16",
      "model.model_kwargs.torch_dtype: has no effect: `engine.precision` chooses the precision; remove it",
    ],
  ])("%s", async (override, warning) => {
    const { recipe, warnings } = await overridden("magrpo-he", override);
    expect(warnings).toEqual([`warning: ${warning}`]);
    expect(recipe).toEqual((await overridden("magrpo-he")).recipe);
  });
});

describe("mistakes in published keys", () => {
  it.each([
    ["magrpo.num_turn=2", "magrpo.num_turn: unknown key; did you mean `magrpo.num_turns`?"],
    ["grpo.learning_rat=1", "grpo.learning_rat: unknown key; did you mean `grpo.learning_rate`?"],
    ["mgrpo.num_turns=2", "mgrpo.num_turns: unknown key; did you mean `magrpo.num_turns`?"],
    ["num_turns=2", "num_turns: unknown key; did you mean `magrpo.num_turns`?"],
    ["reward_processor.scales=2", "its keys are reward_processor.scale_factor, reward_processor.enabled"],
    ["external=3", "external: unknown key; its keys are external.mode"],
    ["external.original_prompt=true", "where true is text; write external.original_prompt=True"],
    [
      "magrpo.num_agents=3",
      "magrpo.num_agents: the recipe has 2: helper, main; choose another recipe, found 3",
    ],
    ["magrpo.advantage_mode=other", 'expected one of mean, raw, max, rloo, found "other"'],
    ["external.expert_model=wizard", "no provider is known for the expert wizard; claude…, deepseek…"],
    ["model_name=3", "model_name: expected a model's name or directory, found 3"],
    ["magrpo.num_train_epochs=many", 'magrpo.num_train_epochs: expected a number of epochs, found "many"'],
  ])("%s", async (override, message) => {
    await expect(overridden("magrpo-he", override)).rejects.toThrow(`override \`${override}\`: `);
    await expect(overridden("magrpo-he", override)).rejects.toThrow(message);
  });

  it("are reported together, with ours", async () => {
    const overrides = ["magrpo.num_turn=2", "a", "external.modes=plain"];
    await expect(overridden("magrpo-he", ...overrides)).rejects.toThrow(/^3 mistakes in the recipe:/);
  });
});

describe("a configuration of MAGRPO", () => {
  const folder = mkdtempSync(path.join(tmpdir(), "troupe-configuration-"));
  afterAll(() => rmSync(folder, { recursive: true }));

  async function read(text: string, ...overrides: string[]) {
    const file = path.join(folder, "mine.yaml");
    writeFileSync(file, text);
    const { tree, warnings } = await applyEveryOverride(loadTree(file), overrides, builtInCatalog);
    return { recipe: plainOf(tree) as Plain, warnings: warnings.map(({ key }) => key) };
  }

  const coop =
    "model: { name: mine/m, type: qwen }\ndataset: { name: OpenMLRL/CoopHumanEval, train_split: 'test[:20]' }\n";

  it("is the included recipe of its section, data set and turns, with the file's values and the overrides", async () => {
    const text = `${coop}magrpo: { num_turns: 2, num_train_epochs: 4, turn_gradient_weights: [1.5, 0.5], top_k: null }\n`;
    const { recipe, warnings } = await read(text, "magrpo.num_train_epochs=5", "seed=7");
    const included = await overridden(
      "mt-magrpo-che",
      "model.name=mine/m",
      "dataset.train_split=test[:20]",
      "magrpo.num_train_epochs=5",
      "magrpo.turn_gradient_weights=[1.5,0.5]",
      "magrpo.top_k=None",
      "seed=7",
    );
    expect(recipe).toEqual({ ...included.recipe, name: "mine" });
    expect(warnings).toEqual(["model.type"]);
  });

  it.each([
    ["magrpo: { num_turns: 1 }", "two coders", ["helper", "main"]],
    ["grpo: { num_generations: 8 }\ndataset: { name: openai_humaneval }", "one coder", ["single"]],
    ["magrpo: {}\ndataset: { name: OpenMLRL/MBPP }", "MBPP", ["helper", "main"]],
  ])("%j has %s", async (text, _, roles) => {
    expect(Object.keys(valueAt((await read(text)).recipe, "team.roles") as Plain)).toEqual(roles);
  });

  it.each([
    [
      "magrpo: {}\nalgorithm: { name: magrpo }",
      /mine.yaml:2:1: algorithm: unknown key in a configuration of MAGRPO/,
    ],
    [
      "magrpo:\n  num_turn: 2",
      /mine.yaml:2:3: magrpo.num_turn: unknown key; did you mean `magrpo.num_turns`/,
    ],
    ["magrpo: {}\ndataset: { name: apps }", /no included recipe for magrpo on "apps"/],
  ])("%j is rejected", async (text, message) => {
    await expect(read(text)).rejects.toThrow(message);
  });
});
