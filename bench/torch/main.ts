/**
 * One GRPO step of an adapter beside TRL's GRPOTrainer, each side in processes of its own, in turns:
 *
 *   TROUPE_TRL_PYTHON=trl/bin/python node bench/torch/main.ts [SHAPE] [LAYERS] [PROMPT] [REPLY] [STEPS] [ROUNDS] [PROMPTS]
 *
 * The Python of the other side has trl, peft and datasets; without it only our side is measured. 0 layers: all of the shape.
 * With TROUPE_TORCH_DEVICE=cuda both compute there, in bfloat16.
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { torchPython } from "../../src/engines/open.ts";
import { drawInt, generatorOf, rootKey } from "../../src/random.ts";
import { watching, writeWatched } from "./watched.ts";

const [shape = "qwen2.5-0.5b", ...numbers] = process.argv.slice(2);
const [layers = 0, prompt = 256, reply = 32, steps = 2, rounds = 3, prompts = 1] = numbers.map(Number);
const device = process.env["TROUPE_TORCH_DEVICE"] ?? "cpu";
const threads = Number(process.env["OMP_NUM_THREADS"] ?? 2);
const trl = process.env["TROUPE_TRL_PYTHON"] ?? "";
const fileHere = (name: string): string => fileURLToPath(new URL(name, import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "troupe-bench-"));
const model = join(folder, "model");
const peaks = join(folder, "peaks.json");
const python = join(folder, "python");

const generator = generatorOf(rootKey(1));
const work = {
  model,
  python,
  adapter: {
    rank: 16,
    alpha: 32,
    seed: 1,
    targetModules: ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"],
  },
  device,
  precision: device === "cpu" ? "float32" : "bfloat16",
  threads,
  prompts: Array.from({ length: prompts }, () =>
    Array.from({ length: prompt }, () => 2 + drawInt(generator, 151_934)),
  ),
  samples: 8,
  reply,
  steps,
};
const together = prompts * 8;
/** Settings of ours; of TRL, sequences at a time, and whether layers are computed again. */
const sides =
  device === "cpu"
    ? {
        ours: [{ rows: 8, headTokens: 64 }],
        theirs: [
          { batch: 2, recompute: false },
          { batch: 1, recompute: true },
        ],
      }
    : {
        ours: [
          { rows: together, recompute: false, headTokens: 1024, trunkTokens: 16_384 },
          { rows: together },
        ],
        theirs: [
          { batch: together, recompute: false },
          { batch: 8, recompute: false },
          { batch: 8, recompute: true },
        ],
      };

/** The lines that a side prints are its results. */
function run(side: string, program: string, file: string, more: object): void {
  const given = JSON.stringify({ ...work, ...more });
  const { status, stdout } = spawnSync(program, [fileHere(file), given], {
    encoding: "utf8",
    stdio: ["ignore", "pipe", 2],
    env: {
      ...process.env,
      OMP_NUM_THREADS: String(threads),
      HF_HUB_OFFLINE: "1",
      PYTHONPATH: watching,
      TROUPE_BENCH_PEAKS: peaks,
    },
  });
  if (status !== 0) throw new Error(`${side} ended with ${status}`);
  for (const line of stdout.split("\n")) if (line.startsWith('{"')) process.stdout.write(`${side} ${line}\n`);
  process.stdout.write(`${side} ${readFileSync(peaks, "utf8")}\n`);
  rmSync(peaks);
}

try {
  const made = spawnSync(torchPython(undefined), [fileHere("make_model.py"), shape, String(layers), model], {
    stdio: ["ignore", 2, 2],
  });
  if (made.status !== 0) throw new Error("the model was not made");
  writeWatched(python, peaks);
  if (trl === "") process.stdout.write("TRL skipped: TROUPE_TRL_PYTHON names no Python that has it\n");
  for (let round = 0; round < rounds; round++) {
    for (const settings of sides.ours)
      run(`troupe ${JSON.stringify(settings)}`, process.execPath, "ours.ts", { settings });
    if (trl === "") continue;
    for (const each of sides.theirs)
      run(`trl, ${each.batch} at a time${each.recompute ? ", recomputed" : ""}`, trl, "trl_side.py", each);
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
