import { spawnSync } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { troupe } from "./testing/command.ts";

let cwd: string;
beforeAll(async () => void (cwd = await mkdtemp(join(tmpdir(), "troupe-cluster-"))));
afterAll(() => rm(cwd, { recursive: true }));

it("a recipe for this machine needs no servers, whatever its models are", async () => {
  const { code, stderr } = await troupe(["cluster", "algorithms/at-grpo"], { cwd });
  expect([code, stderr]).toEqual([2, expect.stringContaining("The recipe needs no servers")]);
});

it("commands for files in a folder begin there, wherever it is", async () => {
  const { stdout } = await troupe(
    ["cluster", "cluster/qwen3-1-7b-skyrl", "--on", "slurm", "--output", "our servers"],
    { cwd },
  );
  const [, commands = ""] = stdout.split("# commands\n");
  const lines = commands.trim().split("\n");
  expect(lines[0]).toBe("cd 'our servers'");
  const file = /^sbatch (\S+)$/.exec(lines.at(-1) ?? "")?.[1] ?? "";
  expect(spawnSync("sh", ["-c", `${lines[0]} && test -f "${file}"`], { cwd }).status).toBe(0);
});
