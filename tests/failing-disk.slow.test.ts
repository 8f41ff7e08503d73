/**
 * Every kind of write to a run's folder fails once; the same command then ends with the same bytes. Needs a C compiler and
 * Linux. With TROUPE_EVERY_WRITE=1 every single write fails in turn, which takes long.
 */
import { execFileSync, spawn, spawnSync, type ChildProcessWithoutNullStreams } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { cp, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { createInterface, type Interface } from "node:readline";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { recordsOf } from "../src/train/testing/records-of.ts";

const support = (name: string): string => path.join(import.meta.dirname, "support", name);
const canCompile = process.platform === "linux" && spawnSync("cc", ["--version"]).status === 0;
const { ENOSPC, EIO } = os.constants.errno;

const recipe = `name: tiny
environment: { name: plan-path, size: 4 }
team: { roles: { scout: { policy: own, prompt: "", maxTokens: 4 }, planner: { policy: own, prompt: "", maxTokens: 4 } }, turns: 1 }
policies: { own: { model: { preset: nano } } }
algorithm: { name: at-grpo, samples: 2 }
warmStart: { steps: 1, demonstrationsPerStep: 1, learningRate: 0.001 }
train: { steps: 3, tasksPerStep: 1, learningRate: 0.001 }
evaluation: { tasks: 1 }
checkpoint: { every: 2, keep: 1 }
engine: { threads: 1 }
`;

let root: string;
/** Runs all commands (support/failing-disk.ts). */
let commands: ChildProcessWithoutNullStreams;
let outcomes: Interface;
beforeAll(async () => {
  root = await mkdtemp(path.join(os.tmpdir(), "troupe-disk-"));
  await writeFile(path.join(root, "tiny.yaml"), recipe);
  if (!canCompile) return;
  const library = path.join(root, "disk.so");
  execFileSync("cc", ["-shared", "-fPIC", "-o", library, support("failing-disk.c"), "-ldl"]);
  const env = { ...process.env, LD_PRELOAD: library, FAIL_COUNT: path.join(root, "count") };
  commands = spawn(process.execPath, [support("failing-disk.ts")], { cwd: root, env });
  commands.stderr.pipe(process.stderr);
  outcomes = createInterface(commands.stdout);
});
afterAll(async () => {
  commands?.kill();
  await rm(root, { recursive: true });
});

interface Ended {
  readonly code: number | null;
  readonly stderr: string;
  /** Writes to the run's folder. */
  readonly calls: number;
}

async function command(args: readonly string[], fails: object): Promise<Ended> {
  const answer = once(outcomes, "line");
  commands.stdin.write(`${JSON.stringify({ args: [...args, "--quiet"], ...fails })}\n`);
  return JSON.parse(String(await answer)) as Ended;
}

/** @param at the call that fails; absent: none */
function training(name: string, at?: number, errno = 0): Promise<Ended> {
  const variables = { FAIL_BELOW: `/runs/${name}`, FAIL_ERRNO: String(errno), FAIL_READING: "/no such file" };
  return command(["train", "tiny.yaml", "--run", name], { at, variables });
}

/** A file of the run gives an error whenever it is read. */
function extending(name: string, file: string): Promise<Ended> {
  const given = ["train", "tiny.yaml", "train.steps=4", "--run", name, "--extend"];
  return command(given, { variables: { FAIL_READING: `/runs/${name}/${file}` } });
}

/** The recipe, and all of a checkpoint: everything else is read like one of them. */
async function filesToFail(folder: string): Promise<string[]> {
  const entries = await readdir(path.join(folder, "checkpoints"), { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile());
  return [
    "recipe.yaml",
    ...files.map(({ parentPath, name }) => path.relative(folder, path.join(parentPath, name))),
  ];
}

/** A few calls of every part of the run, or all of them. */
function callsToFail(count: number): readonly number[] {
  const all = Array.from({ length: count }, (_, index) => index + 1);
  return process.env["TROUPE_EVERY_WRITE"] === "1" ? all : all.filter((call) => call % 61 === 7);
}

describe.skipIf(!canCompile)("a disk that fails once", { timeout: 2 ** 30 }, () => {
  it("costs no step, and the run ends the same", async () => {
    const { code: done, calls } = await training("whole");
    expect([done, calls > 200]).toEqual([0, true]);
    const whole = await recordsOf(path.join(root, "runs", "whole"));
    for (const [index, at] of callsToFail(calls).entries()) {
      const name = `failing${at}`;
      const { code, stderr } = await training(name, at, index % 2 === 0 ? ENOSPC : EIO);
      expect({ at, code, stderr }).toMatchObject({ code: 1 });
      expect(stderr).toMatch(/^error: Cannot write .* then repeat the command/m);
      expect({ at, ...(await training(name)) }).toMatchObject({ code: 0 });
      expect(existsSync(path.join(root, "runs", name, "result.json"))).toBe(true);
      expect(await recordsOf(path.join(root, "runs", name))).toEqual(whole);
    }
  });

  it("names a file that cannot be read, and advises nothing that would lose it", async () => {
    const runs = path.join(root, "runs");
    let named = 0;
    for (const file of await filesToFail(path.join(runs, "whole"))) {
      await rm(path.join(runs, "copy"), { recursive: true, force: true });
      await cp(path.join(runs, "whole"), path.join(runs, "copy"), { recursive: true });
      const { code, stderr } = await extending("copy", file);
      if (code === 0) continue;
      named += 1;
      expect({ file, stderr }).toEqual({
        file,
        stderr: expect.stringContaining(path.basename(file)) as string,
      });
      expect(stderr).not.toMatch(/This is a bug|remove/i);
    }
    // What is not needed to go on may be unreadable.
    expect(named).toBeGreaterThan(5);
  });
});
