/**
 * The basic recipes of tinker-cookbook, unmodified, run against `troupe serve`: supervised training, then sampling and
 * rewards from its checkpoint. They need Python with `pip install tinker-cookbook` (0.6.1): TROUPE_COOKBOOK_PYTHON. Skipped without.
 */
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { initModel } from "../../models/init.ts";
import { presets } from "../../models/presets.ts";
import { temporaryFolder } from "../../models/test-model.ts";
import { writeByteTokenizer } from "../../text/byte-tokenizer.ts";
import { startServing } from "../testing/serving.ts";

const python = process.env["TROUPE_COOKBOOK_PYTHON"];
const script = fileURLToPath(new URL("testing/cookbook.py", import.meta.url));
/** Known to the cookbook, whose renderer writes ChatML as the model's template does. */
const name = "Qwen/Qwen3-8B";

it.skipIf(python === undefined)("the cookbook's loops run", { timeout: 600_000 }, async () => {
  const folder = temporaryFolder();
  const [tokenizer, model] = [join(folder, "tokenizer"), join(folder, name)];
  writeByteTokenizer(tokenizer);
  await initModel({ directory: model, preset: presets.nano, tokenizer, seed: 1, maxLength: 2048 });
  const serving = await startServing([`${name}=${model}`]);
  const train = async (recipe: string, settings: object): Promise<Record<string, number>[]> => {
    const log = join(folder, "log");
    const all = { base_url: serving.url, model_name: name, log_path: log, lora_rank: 16, ...settings };
    await promisify(execFile)(python ?? "", [script, recipe, JSON.stringify(all)], {
      cwd: folder, // where the tokenizer of this name is
      env: { ...process.env, TINKER_API_KEY: "tml-test", HF_HUB_OFFLINE: "1" },
    });
    const lines = readFileSync(join(log, "metrics.jsonl"), "utf8").trim().split("\n");
    return lines.map((line) => JSON.parse(line) as Record<string, number>);
  };
  try {
    const supervised = await train("sl_loop", { batch_size: 8, learning_rate: 0.003 });
    const losses = supervised.map((row) => row["train_mean_nll"] ?? Number.NaN);
    expect(losses).toHaveLength(40);
    expect(losses.at(-1)).toBeLessThan((losses[0] ?? 0) - 1);
    // It continues at the batch after the last one of the checkpoint. Of the tasks, such a model solves none.
    const reinforced = await train("rl_loop", {
      batch_size: 4,
      group_size: 4,
      max_steps: 42,
      max_tokens: 16,
      loss_fn: "importance_sampling",
    });
    const steps = reinforced.slice(supervised.length);
    expect(steps.map((row) => [row["progress/batch"], row["reward/total"]])).toEqual([
      [40, 0],
      [41, 0],
    ]);
  } finally {
    await serving.stop();
  }
});
