/**
 * `kill -9` at any moment, then the same command again: real processes, the real engine, a whole model and an adapter,
 * with and without critics and references. The run must end with the same bytes as an undisturbed one, except for
 * wall-clock times.
 */
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import fs from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { drawInt, generatorOf, keyAt, rootKey } from "../src/random.ts";
import { recordsOf } from "../src/train/testing/records-of.ts";

const script = path.join(import.meta.dirname, "support", "train-process.ts");
let root = "";
let undisturbed: Record<string, string> = {};
let changes = 0;

beforeAll(async () => {
  root = await fs.mkdtemp(path.join(os.tmpdir(), "troupe-resume-"));
  const { stdout } = await trainIn("whole", 0);
  ({ changes } = JSON.parse(stdout.trim().split("\n").at(-1) ?? "") as { changes: number });
  undisturbed = await recordsOf(path.join(root, "whole", "run"));
});
afterAll(() => fs.rm(root, { recursive: true }));

/** Each run has its own working directory, because adapters name the folder of their base. */
async function folder(name: string): Promise<string> {
  const directory = path.join(root, name);
  await fs.mkdir(directory, { recursive: true });
  return directory;
}

/** One process that kills itself at a disk write; 0: never. */
async function trainIn(
  name: string,
  killAt: number,
  algorithm?: object,
  maxLag = 0,
): Promise<{ stdout: string; signal: string | null }> {
  const cwd = await folder(name);
  const options = algorithm === undefined ? [] : [JSON.stringify(algorithm), String(maxLag)];
  const { stdout, stderr, signal, status } = spawnSync(
    process.execPath,
    [script, String(killAt), ...options],
    { cwd, encoding: "utf8" },
  );
  if (signal === null && status !== 0) throw new Error(stderr);
  return { stdout, signal };
}

test("the undisturbed run wrote everything there is to compare", () => {
  const names = Object.keys(undisturbed);
  for (const policy of ["whole", "adapter"]) {
    expect(names.filter((name) => name.startsWith(`checkpoints/step-10/${policy}`)).length).toBeGreaterThan(
      3,
    );
  }
  expect(names).toContain("checkpoints/step-10/whole.optimizer");
  expect(names).toContain("result.json");
  expect(undisturbed["metrics.jsonl"]?.trim().split("\n")).toHaveLength(10);
  expect(changes).toBeGreaterThan(500);
});

test.each([1, 2])("killed repeatedly at random disk writes (%i)", async (chain) => {
  const generator = generatorOf(keyAt(rootKey(17), "kills", chain));
  const name = `changes-${chain}`;
  let kills = 0;
  // Early writes are few and of all kinds; half of the kills are there.
  const killAt = () => 1 + drawInt(generator, drawInt(generator, 2) === 0 ? 60 : Math.floor(changes / 2));
  while (kills < 6 && (await trainIn(name, killAt())).signal === "SIGKILL") kills += 1;
  expect(kills).toBeGreaterThan(0);
  await trainIn(name, 0);
  expect(await recordsOf(path.join(root, name, "run"))).toEqual(undisturbed);
});

test("killed at random moments, while computing or writing", async () => {
  const generator = generatorOf(keyAt(rootKey(17), "moments"));
  const cwd = await folder("moments");
  for (let kill = 0; kill < 4; kill++) {
    const child = spawn(process.execPath, [script, "0"], { cwd, stdio: ["ignore", "pipe", "inherit"] });
    const exited = once(child, "exit");
    await Promise.race([once(child.stdout, "data"), exited]);
    const timer = setTimeout(() => child.kill("SIGKILL"), drawInt(generator, 400));
    await exited;
    clearTimeout(timer);
  }
  await trainIn("moments", 0);
  expect(await recordsOf(path.join(cwd, "run"))).toEqual(undisturbed);
});

test("killed while the first and the second checkpoint after the start are being written", async () => {
  const cwd = await folder("checkpoint");
  for (const kill of [1, 2]) {
    const child = spawn(process.execPath, [script, "0"], { cwd, stdio: ["ignore", "pipe", "inherit"] });
    const exited = once(child, "exit");
    let saves = 0;
    child.stdout.on("data", (data: Buffer) => {
      saves += data.toString().split("saving").length - 1;
      if (saves >= kill) child.kill("SIGKILL");
    });
    await exited;
  }
  await trainIn("checkpoint", 0);
  expect(await recordsOf(path.join(cwd, "run"))).toEqual(undisturbed);
});

const adaptive = { coefficient: 0.1, target: 0.02, horizon: 200 };
test.each([
  { name: "ppo", samples: 2, kl: { where: "reward", ...adaptive }, criticEpochs: 2, valueClip: 0.5 },
  { name: "grpo", samples: 3, kl: { where: "loss", ...adaptive }, dynamicSampling: true, refills: 2 },
  { name: "reinforce", samples: 2, kl: { where: "loss", estimator: "k3", ...adaptive }, baseline: "moving" },
])(
  "$name: critics, references, their coefficients, refilled steps and moving baselines are restored",
  async (algorithm) => {
    const [whole, parts] = [`whole-${algorithm.name}`, `parts-${algorithm.name}`];
    const { stdout } = await trainIn(whole, 0, algorithm);
    const { changes: all } = JSON.parse(stdout.trim().split("\n").at(-1) ?? "") as { changes: number };
    const generator = generatorOf(keyAt(rootKey(17), "kills", algorithm.name));
    // Half of the kills come early after a start, when little was written since the last checkpoint.
    const killAt = () => 1 + drawInt(generator, drawInt(generator, 2) === 0 ? 90 : Math.floor(all / 2));
    let kills = 0;
    while (kills < 6 && (await trainIn(parts, killAt(), algorithm)).signal === "SIGKILL") kills += 1;
    expect(kills).toBeGreaterThan(2);
    await trainIn(parts, 0, algorithm);
    const records = await recordsOf(path.join(root, whole, "run"));
    expect(Object.keys(records)).toContain("beginning/whole/model.safetensors");
    expect(await recordsOf(path.join(root, parts, "run"))).toEqual(records);
  },
);

test("killed while a batch is sampled ahead", async () => {
  const algorithm = { name: "grpo", samples: 3 };
  const { stdout } = await trainIn("whole-ahead", 0, algorithm, 1);
  const { changes: all } = JSON.parse(stdout.trim().split("\n").at(-1) ?? "") as { changes: number };
  const generator = generatorOf(keyAt(rootKey(17), "kills", "ahead"));
  let kills = 0;
  const killAt = () => 1 + drawInt(generator, Math.floor(all / 2));
  while (kills < 5 && (await trainIn("parts-ahead", killAt(), algorithm, 1)).signal === "SIGKILL") kills += 1;
  expect(kills).toBeGreaterThan(0);
  await trainIn("parts-ahead", 0, algorithm, 1);
  const records = await recordsOf(path.join(root, "whole-ahead", "run"));
  expect(Object.keys(records)).toContain("checkpoints/step-8/next-batch.jsonl");
  expect(await recordsOf(path.join(root, "parts-ahead", "run"))).toEqual(records);
});
