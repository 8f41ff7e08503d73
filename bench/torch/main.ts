/**
 * One GRPO step of an adapter beside TRL's GRPOTrainer, each side in processes of its own, in turns:
 *
 *   TROUPE_TRL_PYTHON=trl/bin/python node bench/torch/main.ts [SHAPE] [LAYERS] [PROMPT] [REPLY] [STEPS] [ROUNDS]
 *
 * The Python of the other side has trl, peft and datasets; without it only our side is measured. 0 layers: all of the shape.
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { torchPython } from "../../src/engines/open.ts";
import { drawInt, generatorOf, rootKey } from "../../src/random.ts";

const [shape = "qwen2.5-0.5b", ...numbers] = process.argv.slice(2);
const [layers = 0, prompt = 256, reply = 32, steps = 2, rounds = 3] = numbers.map(Number);
const threads = Number(process.env["OMP_NUM_THREADS"] ?? 2);
const trl = process.env["TROUPE_TRL_PYTHON"] ?? "";
const fileHere = (name: string): string => fileURLToPath(new URL(name, import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "troupe-bench-"));
const model = join(folder, "model");

const generator = generatorOf(rootKey(1));
const work = {
  model,
  adapter: {
    rank: 16,
    alpha: 32,
    seed: 1,
    targetModules: ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"],
  },
  precision: "float32",
  threads,
  prompts: [Array.from({ length: prompt }, () => 2 + drawInt(generator, 151_934))],
  samples: 8,
  reply,
  steps,
};
/** The lines that a side prints are its results. */
function run(side: string, program: string, file: string, more: object): void {
  const given = JSON.stringify({ ...work, ...more });
  const { status, stdout } = spawnSync(program, [fileHere(file), given], {
    encoding: "utf8",
    stdio: ["ignore", "pipe", 2],
    env: { ...process.env, OMP_NUM_THREADS: String(threads), HF_HUB_OFFLINE: "1" },
  });
  if (status !== 0) throw new Error(`${side} ended with ${status}`);
  for (const line of stdout.split("\n")) if (line.startsWith('{"')) process.stdout.write(`${side} ${line}\n`);
}

try {
  const made = spawnSync(torchPython(undefined), [fileHere("make_model.py"), shape, String(layers), model], {
    stdio: ["ignore", 2, 2],
  });
  if (made.status !== 0) throw new Error("the model was not made");
  if (trl === "") process.stdout.write("TRL skipped: TROUPE_TRL_PYTHON names no Python that has it\n");
  for (let round = 0; round < rounds; round++) {
    run("troupe", process.execPath, "ours.ts", { settings: { rows: 8, headTokens: 64 } });
    if (trl === "") continue;
    run("trl, 2 at a time", trl, "trl_side.py", { batch: 2, recompute: false });
    run("trl, 1 at a time, recomputed", trl, "trl_side.py", { batch: 1, recompute: true });
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
