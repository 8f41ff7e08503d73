/**
 * The basic recipes of tinker-cookbook, unmodified, run against `troupe serve` with each engine: supervised training from
 * random weights, and reinforcement of a model that is sometimes right. They need a Python with
 * `pip install "tinker-cookbook[math-rl]"` (0.6.1): TROUPE_COOKBOOK_PYTHON. Skipped without.
 */
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, it, onTestFinished } from "vitest";
import { initModel } from "../../models/init.ts";
import { presets } from "../../models/presets.ts";
import { temporaryFolder } from "../../models/test-model.ts";
import { mean } from "../../statistics.ts";
import { writeByteTokenizer } from "../../text/byte-tokenizer.ts";
import { loadTokenizer } from "../../text/tokenizer.ts";
import { LocalEngine } from "../local/local-engine.ts";
import { adam } from "../local/test-engine.ts";
import { startServing, type Serving } from "../testing/serving.ts";
import { python as torchPython } from "../torch/testing/interpreter.ts";

const python = process.env["TROUPE_COOKBOOK_PYTHON"];
const script = fileURLToPath(new URL("testing/cookbook.py", import.meta.url));
/** The prompt of the cookbook's reinforcement loop: an example, then the question. */
const suffix = " Provide a numerical answer without units, written inside \\boxed{}.";
const spelled =
  "Let's spell the word out and number all the letters: 1) s 2) t 3) r 4) a 5) w 6) b 7) e 8) r 9) r 10) y. " +
  "We have r's at positions 3, 8, and 9. \\boxed{3}";

/** Known to the cookbook, whose renderer writes ChatML as the model's template does. */
const name = "Qwen/Qwen3-8B";

/** The model, after it was shown each answer to each question equally often: some samples are right by chance. */
async function warmStarted(model: string, directory: string): Promise<void> {
  const engine = new LocalEngine({ threads: 2, precision: "float32" });
  await engine.createPolicy({ name: "p", model });
  const tokenizer = loadTokenizer(model);
  const answers = [1, 2, 3, 4].map((answer) => ({ tokens: tokenizer.encode(`\\boxed{${answer}}`) }));
  const continuations = answers.map(({ tokens }) => ({
    tokens: Int32Array.from([...tokens, ...tokenizer.endTokens]),
  }));
  const data = [0, 1, 2, 3].map((number) => {
    const messages = [
      { role: "user", content: `How many r's are in strawberry?${suffix}` },
      { role: "assistant", content: spelled },
      { role: "user", content: `What is ${number} + 1?${suffix}` },
    ] as const;
    return { policy: "p", prompt: tokenizer.renderPrompt(messages, true), continuations };
  });
  for (let step = 0; step < 60; step++) {
    await engine.forwardBackward(data, { type: "cross_entropy" });
    await engine.optimStep("p", { ...adam, learningRate: 0.005 });
  }
  await engine.export("p", directory);
  await engine.close();
}

it.skipIf(python === undefined).each(["local", ...(torchPython === undefined ? [] : ["torch"])])(
  "the cookbook's loops and basic recipes run: %s",
  { timeout: 600_000 },
  async (engine) => {
    const folder = temporaryFolder();
    const [tokenizer, model] = [join(folder, "tokenizer"), join(folder, name)];
    writeByteTokenizer(tokenizer);
    await initModel({ directory: model, preset: presets.nano, tokenizer, seed: 1, maxLength: 2048 });
    const start = async (directory: string): Promise<Serving> => {
      const serving = await startServing([`${name}=${directory}`], { arguments: ["--engine", engine] });
      onTestFinished(() => serving.stop());
      return serving;
    };
    const warm = join(folder, "warm", name);
    await warmStarted(model, warm);
    const train = async (
      { url }: Serving,
      recipe: string,
      settings: object,
    ): Promise<Record<string, number>[]> => {
      const log = join(folder, `log-${recipe}`);
      const all = { base_url: url, model_name: name, log_path: log, lora_rank: 16, ...settings };
      await promisify(execFile)(python ?? "", [script, recipe, JSON.stringify(all)], {
        cwd: folder, // where the tokenizer of this name is
        env: { ...process.env, TINKER_API_KEY: "tml-test", HF_HUB_OFFLINE: "1" },
      });
      const lines = readFileSync(join(log, "metrics.jsonl"), "utf8").trim().split("\n");
      return lines.map((line) => JSON.parse(line) as Record<string, number>);
    };
    const [cold, warmed] = [await start(model), await start(warm)];
    const supervised = await train(cold, "sl_loop", { batch_size: 8, learning_rate: 0.003 });
    const losses = supervised.map((row) => row["train_mean_nll"] ?? Number.NaN);
    expect(losses).toHaveLength(40);
    expect(losses.at(-1)).toBeLessThan((losses[0] ?? 0) - 1);
    const settings = { batch_size: 8, group_size: 8, max_steps: 14, max_tokens: 16 };
    // With the loss that it has by default, stable_reinforce.
    const steps = await train(warmed, "rl_loop", { ...settings, learning_rate: 0.003 });
    expect(steps.map((row) => row["progress/batch"])).toEqual([...Array(14).keys()]);
    const rewards = steps.map((row) => row["reward/total"] ?? Number.NaN);
    // Nobody fixes the seeds; in the run of docs/results/servers.md, from 0.20 to 0.63 in 20 steps.
    expect(mean(rewards.slice(-5))).toBeGreaterThan(mean(rewards.slice(0, 3)) + 0.1);
    const highest = (rows: typeof steps, metric: string): number =>
      Math.max(...rows.map((row) => row[metric] ?? -Infinity));
    const basic = await train(cold, "sl_basic", {
      learning_rate: 0.003,
      "dataset_builder.common_config.batch_size": 16,
      "dataset_builder.common_config.max_length": 1024,
    });
    expect(basic).toHaveLength(20);
    expect(basic.at(-1)?.["train_mean_nll"]).toBeLessThan((basic[0]?.["train_mean_nll"] ?? 0) - 1);
    const reinforced = await train(warmed, "rl_basic", {
      learning_rate: 0.001,
      max_tokens: 16,
      max_steps: 2,
      "dataset_builder.batch_size": 4,
      "dataset_builder.group_size": 4,
    });
    const batches = reinforced.map((row) => row["progress/batch"]);
    expect(batches.filter((batch) => batch !== undefined)).toEqual([0, 1]); // the last row is of its end
    expect(highest(reinforced, "env/all/reward/total")).toBeGreaterThan(0);
    expect(highest(reinforced, "grad_norm")).toBeGreaterThan(0);
    // Its own data, sums of two numbers, and its own loss.
    const sums = await train(warmed, "math_rl.train", { groups_per_batch: 8, max_steps: 2 });
    expect(sums.filter((row) => row["progress/batch"] !== undefined)).toHaveLength(2);
    expect(highest(sums, "tokens/sampled")).toBeGreaterThan(0);
    // Sampling and training know the same probabilities.
    expect(reinforced[0]?.["optim/kl_sample_train_v2"]).toBeCloseTo(0, 4);
  },
);
