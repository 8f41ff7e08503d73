/**
 * Every kind of write to a run's folder fails once, in real processes; the same command then ends with the same bytes.
 * Needs a C compiler and Linux. With TROUPE_EVERY_WRITE=1 every single write fails in turn, which takes an hour.
 */
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { cp, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { recordsOf } from "../src/train/testing/records-of.ts";

const program = path.join(import.meta.dirname, "..", "bin", "troupe.js");
const source = path.join(import.meta.dirname, "support", "failing-disk.c");
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
beforeAll(async () => {
  root = await mkdtemp(path.join(os.tmpdir(), "troupe-disk-"));
  await writeFile(path.join(root, "tiny.yaml"), recipe);
  if (canCompile) execFileSync("cc", ["-shared", "-fPIC", "-o", path.join(root, "disk.so"), source, "-ldl"]);
});
afterAll(() => rm(root, { recursive: true }));

interface Ended {
  readonly code: number | null;
  readonly stderr: string;
}

/** @param at the call that fails; 0: none */
function training(name: string, at: number, errno = 0): Ended {
  const failing = {
    LD_PRELOAD: path.join(root, "disk.so"),
    FAIL_BELOW: `/runs/${name}`,
    FAIL_AT: String(at),
    FAIL_ERRNO: String(errno),
    FAIL_COUNT: path.join(root, "count"),
  };
  const { status, stderr } = spawnSync(
    process.execPath,
    [program, "train", "tiny.yaml", "--run", name, "--quiet"],
    { cwd: root, encoding: "utf8", env: { ...process.env, ...failing } },
  );
  return { code: status, stderr };
}

/** A file of the run gives an error whenever it is read. */
function extending(name: string, file: string): { readonly status: number | null; readonly stderr: string } {
  const failing = { LD_PRELOAD: path.join(root, "disk.so"), FAIL_READING: `/runs/${name}/${file}` };
  const given = ["train", "tiny.yaml", "train.steps=4", "--run", name, "--extend", "--quiet"];
  return spawnSync(process.execPath, [program, ...given], {
    cwd: root,
    encoding: "utf8",
    env: { ...process.env, ...failing },
  });
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
    expect(training("whole", 0)).toMatchObject({ code: 0 });
    const whole = await recordsOf(path.join(root, "runs", "whole"));
    const count = Number(await readFile(path.join(root, "count"), "utf8"));
    expect(count).toBeGreaterThan(200);
    for (const [index, at] of callsToFail(count).entries()) {
      const name = `failing${at}`;
      const { code, stderr } = training(name, at, index % 2 === 0 ? ENOSPC : EIO);
      expect({ at, code, stderr }).toMatchObject({ code: 1 });
      expect(stderr).toMatch(/^error: Cannot write .* then repeat the command/m);
      expect({ at, ...training(name, 0) }).toMatchObject({ code: 0 });
      expect(existsSync(path.join(root, "runs", name, "result.json"))).toBe(true);
      expect(await recordsOf(path.join(root, "runs", name))).toEqual(whole);
    }
  });

  it("names a file that cannot be read, and advises nothing that would lose it", async () => {
    const runs = path.join(root, "runs");
    expect(training("read", 0)).toMatchObject({ code: 0 });
    for (const file of await filesToFail(path.join(runs, "read"))) {
      await rm(path.join(runs, "copy"), { recursive: true, force: true });
      await cp(path.join(runs, "read"), path.join(runs, "copy"), { recursive: true });
      const { status, stderr } = extending("copy", file);
      if (status === 0) continue;
      expect({ file, stderr }).toEqual({
        file,
        stderr: expect.stringContaining(path.basename(file)) as string,
      });
      expect(stderr).not.toMatch(/This is a bug|remove/i);
    }
  });
});
