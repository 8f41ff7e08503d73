/** What programs that start Troupe rely on: two outputs, few lines, errors as events. */
import { expect, it } from "vitest";
import { runCommand, shell } from "./testing/command.ts";
import { folderWith, plannerRecipe } from "./testing/folder.ts";

const warmStart = { steps: 12, demonstrationsPerStep: 1, learningRate: 0.003 };
const train = { steps: 3, tasksPerStep: 1, learningRate: 0.001 };
const evaluation = { tasks: 2 };
const cwd = folderWith({ "small.yaml": plannerRecipe("small", { warmStart, train, evaluation }) });

const run = (...args: readonly string[]) => runCommand(args, { cwd });

it("--quiet shows the first and last step of each stage, no episodes, and the result apart from them", async () => {
  const { code, stdout, stderr } = await run("train", "small.yaml", "--quiet");
  expect(code).toBe(0);
  for (const line of ["warm start 1/12", "warm start 12/12", "step 1/3", "step 3/3"])
    expect(stderr).toContain(line);
  expect(stderr).not.toContain("sample episode");
  expect(stderr).not.toContain("warm start 2/12");
  expect(stdout).toMatch(/^\nheld-out tasks .*\n─.*\nteam before .*\nteam after /);
});

it("says that standard output cannot be written, and nothing of a reader that is gone", async () => {
  const full = await shell("troupe completion bash >/dev/full", { cwd });
  expect(full).toEqual({ code: 1, stdout: "", stderr: "error: standard output cannot be written: ENOSPC\n" });
  expect(await shell("troupe completion bash | true", { cwd })).toEqual({ code: 0, stdout: "", stderr: "" });
});

it("an error is the last event of --json, with its exit code", async () => {
  for (const args of [
    ["train", "nothing", "--json"],
    ["train", "small.yaml", "--json", "--no-such-option"],
    ["sft", "small.yaml", "seed=x", "--json"],
  ]) {
    const { code, stdout, stderr } = await run(...args);
    const event = JSON.parse(stdout.trim()) as { message: string };
    expect(event).toMatchObject({ type: "error", code: expect.any(String) as string, exitCode: code });
    expect(stderr).toContain(event.message.split("\n")[0]);
  }
});

it("--guide shows one task before and during the warm start, names the stages, and ends with the next step", async () => {
  const { code, stdout, stderr } = await run("train", "small.yaml", "--run", "guided", "--guide");
  expect(code).toBe(0);
  const places = [
    "untrained:\nsample",
    "after 2 steps of warm start:\nsample",
    "Evaluation before",
    "Reinforcement,",
  ];
  const found = ["Warm start, 12 steps", ...places].map((text) => stderr.indexOf(text));
  expect(found).toEqual(found.toSorted((left, right) => left - right));
  expect(found[0]).toBeGreaterThan(-1);
  expect(stdout).toContain("extends: small");
  const plain = await run("runs", "compare", "small", "guided", "--json");
  const { results } = JSON.parse(plain.stdout) as { results: readonly { table: unknown }[] };
  expect(results[0]?.table).toEqual(results[1]?.table);
});
