/**
 * What docs/cpu.md says of this machine: tokens per second, and peaks of memory by the kernel's count. Each work has a
 * process of its own. Linux only.
 *
 *   node bench/real-size/measure.ts MODEL [PYTHON]
 *
 * MODEL is a directory (`node bench/real-size/make.ts MODEL SHAPE LAYERS`). PYTHON has torch, transformers and peft: it
 * then does the same works (peer.py), except those that are only about our memory, with each of its precisions.
 */
import { spawnSync } from "node:child_process";
import { availableParallelism } from "node:os";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Datum, Engine } from "../../src/engines/engine.ts";
import { openEngine } from "../../src/engines/open.ts";
import { projections } from "../../src/models/adapter-options.ts";
import { median } from "../alternate.ts";
import { sampleAll, trainStep } from "../local.ts";
import { makeData, makeRequests, policy } from "../shapes.ts";

/** Prompts have this many tokens, replies of samples and in training this many. */
const [prompt, reply] = [128, 64];

type Work =
  | { readonly train: number; readonly prompt: number }
  | { readonly sample: number; readonly count: number }
  | { readonly adapters: number };

const works: Readonly<Record<string, Work>> = {
  "training, 8 × 192 tokens": { train: 8, prompt },
  "training, one sequence of 2,048": { train: 1, prompt: 2048 - reply },
  "training, one sequence of 8,192": { train: 1, prompt: 8192 - reply },
  "sampling, 1 sequence": { sample: 1, count: 1 },
  "sampling, 16 prompts": { sample: 16, count: 1 },
  "sampling, 64 prompts": { sample: 64, count: 1 },
  "sampling, 8 prompts × 8": { sample: 8, count: 8 },
  "sampling, 1 adapter, 16 prompts": { adapters: 1 },
  "sampling, 4 adapters, 16 prompts": { adapters: 4 },
};

/** The peer pads and shares nothing, and has no adapters beside each other. */
const ofPeer = Object.keys(works).filter((name) => !/8,192|2,048|adapter/.test(name));

const adapter = { rank: 16, alpha: 32, targetModules: [...projections], seed: 1 };
const policies = (count: number) => Array.from({ length: count }, (_, index) => `${policy}-${index}`);

const [model = "", second] = process.argv.slice(2);
if (second === "--work") await child(process.argv[4] ?? "");
else parent(second);

function parent(python: string | undefined): void {
  if (!existsSync(join(model, "config.json"))) {
    console.error(
      `${model || "MODEL"} is no model directory; \`node bench/real-size/make.ts MODEL\` makes one`,
    );
    process.exitCode = 1;
    return;
  }
  const program = fileURLToPath(import.meta.url);
  print({ work: "loaded", ...run(process.execPath, [program, model, "--work", "loaded"]) });
  for (const name of Object.keys(works)) {
    print({ work: name, ...run(process.execPath, [program, model, "--work", name]) });
    if (python === undefined || !ofPeer.includes(name)) continue;
    const peer = fileURLToPath(new URL("peer.py", import.meta.url));
    const threads = String(availableParallelism());
    for (const precision of ["bfloat16", "autocast", "float32"]) {
      const given = [model, JSON.stringify({ prompt, reply, ...works[name] }), threads, precision];
      print({ peer: name, precision, ...run(python, [peer, ...given]) });
    }
  }
}

function run(program: string, args: readonly string[]): object {
  const { status, stdout, stderr } = spawnSync(program, [...args], { encoding: "utf8" });
  return status === 0 ? (JSON.parse(stdout) as object) : { failed: messageIn(stderr) };
}

/** Node prints a stack and its version after an exception's message, Python prints the message last. */
function messageIn(stderr: string): string | undefined {
  const lines = stderr.trim().split("\n");
  return lines.findLast((line) => /^\S*(Error|Exception)\b.*:/.test(line)) ?? lines.at(-1);
}

async function child(name: string): Promise<void> {
  const engine = openEngine({});
  const began = performance.now();
  const work = works[name];
  const names = work !== undefined && "adapters" in work ? policies(work.adapters) : [policy];
  for (const own of names) await engine.createPolicy({ name: own, model, adapter });
  const loaded = (performance.now() - began) / 1000;
  print(
    work === undefined
      ? { seconds: loaded, peak: peak() }
      : { ...(await measured(engine, work)), peak: peak() },
  );
  await engine.close();
}

async function measured(engine: Engine, work: Work): Promise<object> {
  if ("train" in work) {
    const data: readonly Datum[] = makeData({
      groups: work.train,
      samples: 1,
      prompt: work.prompt,
      continuation: reply,
    });
    return rate(work.train * (work.prompt + reply), () => trainStep(engine, data));
  }
  if ("adapters" in work) {
    const names = policies(work.adapters);
    const requests = makeRequests(16, 1, prompt, reply).map((one, index) => {
      return { ...one, policy: names[index % names.length] ?? "" };
    });
    return rate(16 * reply, () => sampleAll(engine, requests));
  }
  const requests = makeRequests(work.sample, work.count, prompt, reply);
  return rate(work.sample * work.count * reply, () => sampleAll(engine, requests));
}

/** The first time plans and allocates. */
async function rate(tokens: number, work: () => Promise<void>): Promise<object> {
  const seconds: number[] = [];
  for (let time = 0; time < 4; time++) {
    const began = performance.now();
    await work();
    seconds.push((performance.now() - began) / 1000);
    // Long works are measured once.
    if (time > 0 && (seconds.at(-1) ?? 0) > 30) break;
  }
  const typical = median(seconds.slice(1));
  return { seconds: typical, tokensPerSecond: tokens / typical };
}

/** In bytes. */
function peak(): number {
  return 1024 * Number(/VmHWM:\s+(\d+)/.exec(readFileSync("/proc/self/status", "utf8"))?.[1]);
}

function print(line: object): void {
  console.log(JSON.stringify(line));
}
