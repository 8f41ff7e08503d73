/**
 * Trains recipe.yaml, kills the training with SIGKILL in the middle of a step, resumes it, and exports an adapter:
 *
 *   node bench/real-size/day.ts FOLDER [SHAPE] [LAYERS] [OVERRIDES…]
 *
 * FOLDER keeps the model, the run and the export. 0 layers: all of the shape. Linux only.
 */
import { spawn, spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { cp, mkdir, readFile, writeFile } from "node:fs/promises";
import { createInterface } from "node:readline";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { readMetrics, readTimings } from "../../src/runs/read.ts";
import type { TrainEvent } from "../../src/train/events.ts";
import { makeModel } from "./model.ts";

const [given = "real-size", shape = "qwen2.5-0.5b", layers = "0", ...overrides] = process.argv.slice(2);
const folder = resolve(given);
const program = fileURLToPath(new URL("../../bin/troupe.js", import.meta.url));
const runs = join(folder, "runs");

await prepare();
const killed = await training({ killAfter: 1 });
if (killed.finished) throw new Error("the run ended before it could be killed");
const resumed = await training({ killAfter: null });
if (!resumed.finished) throw new Error("the resumed run did not end");
exportAdapter();
await report();

async function prepare(): Promise<void> {
  await mkdir(folder, { recursive: true });
  for (const file of ["recipe.yaml", "coach.ts"])
    await cp(fileURLToPath(new URL(file, import.meta.url)), join(folder, file));
  const problems = Array.from({ length: 64 }, (_, index) => {
    const [boxes, each] = [2 + (index % 8), 3 + Math.floor(index / 8)];
    const question = `Each of ${boxes} boxes has ${each} pens. How many pens are there?`;
    return JSON.stringify({ question, answer: String(boxes * each) });
  });
  await writeFile(join(folder, "problems.jsonl"), `${problems.join("\n")}\n`);
  if (!existsSync(join(folder, "model", "model.safetensors")))
    await makeModel(join(folder, "model"), shape, Number(layers));
}

interface Trained {
  readonly finished: boolean;
  /** Peak of the process, in bytes. */
  readonly memory: number;
}

/** @param killAfter so many steps, once the next one trains */
async function training({ killAfter }: { readonly killAfter: number | null }): Promise<Trained> {
  const settings = ["--run", "day", "--runs", runs, "--json", ...overrides];
  const child = spawn(process.execPath, [program, "train", join(folder, "recipe.yaml"), ...settings], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  let [steps, finished, memory] = [0, false, 0];
  for await (const line of createInterface({ input: child.stdout })) {
    const event = JSON.parse(line) as TrainEvent;
    memory = Math.max(memory, await peakOf(child.pid ?? 0));
    if (event.type === "resumed") print({ resumedAfter: event.stageStep });
    if (event.type === "finished") finished = true;
    if (event.type !== "step") continue;
    steps += 1;
    if (killAfter === steps) setTimeout(() => child.kill("SIGKILL"), 5000);
  }
  return { finished, memory };
}

async function peakOf(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, "utf8").catch(() => "");
  return 1024 * Number(/VmHWM:\s+(\d+)/.exec(status)?.[1] ?? 0);
}

function exportAdapter(): void {
  const out = join(folder, "generator");
  const asked = [
    program,
    "export",
    "day",
    "generator",
    "--runs",
    runs,
    "--to",
    "peft",
    "--out",
    out,
    "--force",
  ];
  const { status } = spawnSync(process.execPath, asked, { stdio: ["ignore", 2, 2] });
  if (status !== 0) throw new Error("the export failed");
  print({ exported: out });
}

async function report(): Promise<void> {
  const run = join(runs, "day");
  const timings = new Map(
    (await readTimings(run)).filter(({ what }) => what === "reinforcement").map((one) => [one.step, one]),
  );
  for (const { step, rollout, policies } of await readMetrics(run)) {
    const trained = Object.values(policies).reduce((sum, { tokens }) => sum + tokens, 0);
    const { sampledTokens: sampled, promptTokens: prompts, dropped } = rollout ?? {};
    print({ prompts, sampled, trained, dropped, ...timings.get(step) });
  }
  print({ peakMemory: { killed: killed.memory, resumed: resumed.memory } });
}

function print(line: object): void {
  console.log(JSON.stringify(line));
}
