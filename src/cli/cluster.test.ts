import { spawnSync } from "node:child_process";
import { expect, it } from "vitest";
import { runCommand } from "./testing/command.ts";
import { folderWith } from "./testing/folder.ts";

const cwd = folderWith();

it("a recipe for this machine needs no servers, whatever its models are", async () => {
  const { code, stderr } = await runCommand("cluster algorithms/at-grpo", { cwd });
  expect([code, stderr]).toEqual([2, expect.stringContaining("the recipe needs no servers")]);
});

it("commands for files in a folder begin there, wherever it is", async () => {
  const { stdout } = await runCommand(
    ["cluster", "cluster/qwen3-1-7b-skyrl", "--on", "slurm", "--output", "our servers"],
    { cwd },
  );
  const [, commands = ""] = stdout.split("# commands\n");
  const lines = commands.trim().split("\n");
  expect(lines[0]).toBe("cd 'our servers'");
  const file = /^sbatch (\S+)$/m.exec(commands)?.[1] ?? "";
  expect(spawnSync("sh", ["-c", `${lines[0]} && test -f "${file}"`], { cwd }).status).toBe(0);
});

it("says what comes next, from the folder where it was asked", async () => {
  const recipe = ["cluster/qwen3-1-7b-skyrl", "train.steps=3", "--override", "seed=2"];
  const { stdout } = await runCommand(["cluster", ...recipe, "--output", "out"], { cwd });
  const given = recipe.join(" ");
  expect(stdout).toContain(
    `\n\n# then, where Troupe runs\ncd -\ntroupe cluster ${given} --wait\ntroupe train ${given}\n\n# `,
  );
});

it("--json has the plan without tables of the model", async () => {
  const { stdout } = await runCommand("cluster cluster/qwen3-1-7b-skyrl --json", { cwd });
  const [policy] = JSON.parse(stdout).plan.policies;
  expect(Object.keys(policy.shape)).not.toContain("inverseFrequencies");
  expect(policy.shape.vocabularySize).toBe(151_936);
});

it("rejects a folder that cannot be created", async () => {
  const given = ["cluster", "cluster/qwen3-1-7b-skyrl", "--output", "/proc/none"];
  const { code, stderr } = await runCommand(given, { cwd });
  expect([code, stderr]).toEqual([1, expect.stringContaining("no folder can be created there")]);
});
