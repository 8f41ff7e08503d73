/**
 * The peak memory of three adapters on one frozen model, sampling and training sequences of some length, and its prediction:
 *
 *   node bench/torch/memory.ts SHAPE LAYERS TOKENS [SETTINGS] [sampling | training]
 *
 * 0 layers: all of the shape. SETTINGS are the engine's, as JSON. TROUPE_BENCH_MODELS keeps the models that are made. Linux only.
 *
 * After a short step, so that there are moments, each policy samples `rows` sequences of so many tokens, nearly all of them
 * the prompt's. Then two policies train on a short sequence and the third on one of so many tokens, a quarter of them a
 * continuation's, beside the gradients of the others; then all take a step of AdamW.
 */
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Datum } from "../../src/engines/engine.ts";
import { torchPython } from "../../src/engines/open.ts";
import { openOwn } from "../../src/engines/torch/testing/own-worker.ts";
import { drawInt, generatorOf, rootKey } from "../../src/random.ts";
import { writeWatched } from "./watched.ts";

const [shape = "qwen3-0.6b", layers = "0", length = "2048", given = "{}", only = "both"] =
  process.argv.slice(2);
const tokens = Number(length);
const settings = { rows: 8, threads: 2, timeoutSeconds: 3600, ...(JSON.parse(given) as object) };
const names = ["one", "two", "three"] as const;
const adapter = {
  rank: 16,
  alpha: 32,
  seed: 1,
  targetModules: ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"],
};
const adam = { learningRate: 1e-5, beta1: 0.9, beta2: 0.999, epsilon: 1e-8, weightDecay: 0, clipNorm: 1 };
const short = 32;
/** Tokens of a sampled reply. */
const few = 4;

const fileHere = (name: string): string => fileURLToPath(new URL(name, import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "troupe-bench-"));
const model = join(process.env["TROUPE_BENCH_MODELS"] ?? folder, `${shape}-${layers}`);
const peaksFile = join(folder, "peaks.json");
const python = join(folder, "python");
const generator = generatorOf(rootKey(1));
const someTokens = (count: number): Int32Array =>
  Int32Array.from({ length: count }, () => 2 + drawInt(generator, 151_000));

function makeModel(): void {
  if (existsSync(join(model, "model.safetensors"))) return;
  const made = spawnSync(torchPython(undefined), [fileHere("make_model.py"), shape, layers, model], {
    stdio: ["ignore", 2, 2],
  });
  if (made.status !== 0) throw new Error("the model was not made");
}

const memoryOf = (pid: number, key: string): number =>
  1024 * Number(new RegExp(`${key}:\\s+(\\d+)`).exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]);

/** What `work` needs at most. */
async function measured(pid: number, what: string, work: () => Promise<unknown>): Promise<void> {
  // proc_pid_clear_refs(5): the peak starts again at what is in memory.
  writeFileSync(`/proc/${pid}/clear_refs`, "5");
  rmSync(peaksFile, { force: true });
  const start = performance.now();
  await work();
  const peaks = JSON.parse(readFileSync(peaksFile, "utf8")) as object;
  print({
    what,
    resident: memoryOf(pid, "VmHWM"),
    ...peaks,
    seconds: Math.round((performance.now() - start) / 1000),
  });
}

type Opened = ReturnType<typeof openOwn>["engine"];

const print = (line: object): void =>
  void process.stdout.write(`${JSON.stringify({ shape, layers: Number(layers), tokens, ...line })}\n`);

async function sample(engine: Opened): Promise<void> {
  const prompt = someTokens(tokens - few);
  const asked = { prompt, count: settings.rows, maxTokens: few, temperature: 1, seed: 1 };
  const sampled = await Promise.all(names.map((policy) => engine.sample({ ...asked, policy })));
  for (const sequence of sampled.flat())
    if (sequence.tokens.length !== few) throw new Error(`a reply of ${sequence.tokens.length} tokens`);
}

function datum(policy: string, count: number): Datum {
  const replied = count / 4;
  const each = {
    logprobs: new Float32Array(replied).fill(-12),
    advantages: new Float32Array(replied).fill(0.01),
  };
  const continuations = [{ tokens: someTokens(replied), ...each }];
  return { policy, prompt: someTokens(count - replied), continuations };
}

async function train(engine: Opened, longest: number): Promise<void> {
  const data = names.map((name, index) => datum(name, index < 2 ? short : longest));
  await engine.forwardBackward(data, { type: "ppo", clipLow: 0.2, clipHigh: 0.2 });
  for (const name of names) await engine.optimStep(name, adam);
}

try {
  makeModel();
  writeWatched(python, peaksFile);
  const { engine, processes } = openOwn(settings, "/dev/stderr", python);
  for (const name of names) await engine.createPolicy({ name, model, adapter });
  const pid = processes[0]?.pid ?? 0;
  print({ what: "loading", resident: memoryOf(pid, "VmHWM"), held: memoryOf(pid, "VmRSS") });
  const sequences = 3 * settings.rows;
  const predicted = await engine.predictMemory({ tokens, prompts: 0, longest: tokens, sequences });
  print({ what: "predicted", ...predicted });
  await train(engine, short);
  if (only !== "training") await measured(pid, "sampling", () => sample(engine));
  // The answer comes before the cache is freed; the next verb comes after that.
  await engine.zeroGradients("one");
  if (only !== "sampling") await measured(pid, "training", () => train(engine, tokens));
  await engine.close();
} finally {
  rmSync(folder, { recursive: true, force: true });
}
