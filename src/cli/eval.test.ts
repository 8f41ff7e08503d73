/** `troupe eval --policies` as a user runs it, on runs of a few seconds. */
import { cp, rm } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { type Outcome, runCommand } from "./testing/command.ts";
import { folderWith, scoutRecipe } from "./testing/folder.ts";

const nano = { model: { preset: "nano" } };
const roles = scoutRecipe("roles", {
  team: {
    roles: { scout: { policy: "scout", prompt: "" }, planner: { policy: "planner", prompt: "" } },
    phases: [["scout"], ["planner"]],
    turns: 2,
  },
  policies: { scout: nano, planner: nano },
  warmStart: { steps: 10, demonstrationsPerStep: 8, learningRate: 0.003 },
  train: { steps: 1, tasksPerStep: 2, learningRate: 0.001 },
  evaluation: { tasks: 4 },
});

const cwd = folderWith({
  "roles.yaml": roles,
  "single.yaml": `extends: roles.yaml
name: single
team: { roles: { scout: null }, phases: [[planner]] }
policies: { scout: null }
`,
  "prompts.yaml": "extends: roles.yaml\nname: prompts\nwarmStart: null\ntrain: { steps: 0 }\n",
});

beforeAll(async () => {
  const larger = ["single.yaml", "environment.size=4", "train.steps=0", "--run", "larger"];
  for (const args of [["roles.yaml"], ["single.yaml"], ["prompts.yaml"], larger])
    await runCommand(["train", ...args], { cwd });
});

const evaluate = (...args: readonly string[]): Promise<Outcome> => runCommand(["eval", ...args], { cwd });

async function playedBy(...args: readonly string[]): Promise<Record<string, string>> {
  const { code, stdout, stderr } = await evaluate(...args, "--json");
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  const { roles: played } = JSON.parse(stdout) as { roles: Record<string, { weights: string }> };
  return Object.fromEntries(Object.entries(played).map(([role, { weights }]) => [role, weights]));
}

describe("troupe eval --policies", () => {
  it("swaps roles, and names the weights of each", async () => {
    const { code, stdout } = await evaluate("roles", "--policies", "scout=roles:planner,planner=roles:scout");
    expect(code).toBe(0);
    expect(stdout).toMatch(/^team +\d/m);
    expect(stdout).toMatch(/^scout +roles:planner +after step 11 +.*step-11.planner$/m);
    expect(stdout).toMatch(/^planner +roles:scout +after step 11 /m);
  });

  // A run alone means its role of this name.
  it.each([
    ["roles --policies planner=single:planner", "roles:scout", "single:planner"],
    ["roles --policies planner=single", "roles:scout", "single:planner"],
    ["roles --policies planner=single --policies scout=prompts", "prompts:scout", "single:planner"],
    ["roles --policies planner=runs/roles/checkpoints/step-10:planner", "roles:scout", "roles:planner"],
    ["roles --policies scout=runs/prompts/models/nano", "runs/prompts/models/nano", "roles:planner"],
    ["single --recipe roles.yaml", "single:planner", "single:planner"],
    ["prompts", "prompts:scout", "prompts:planner"],
  ])("%s", async (line, scout, planner) => {
    expect(await playedBy(...line.split(" "))).toEqual({ scout, planner });
  });

  it("samples by the seed, and reports both", async () => {
    const [first, again, other] = await Promise.all(["3", "3", "4"].map(sampledWith));
    expect(again).toEqual(first);
    expect(first).toMatchObject({ seed: 3, temperature: 1, tasks: 4 });
    expect(other).not.toEqual({ ...first, seed: 4 });
  });
});

async function sampledWith(seed: string): Promise<Record<string, unknown>> {
  const { stdout } = await evaluate("roles", "--temperature", "1", "--seed", seed, "--json");
  const { seconds: _, ...scores } = JSON.parse(stdout) as Record<string, unknown>;
  return scores;
}

describe("what eval rejects", () => {
  const halfPair = "is incomplete; expected ROLE=RUN:NAME";
  it.each([
    ["planner=", halfPair],
    ["planner", halfPair],
    ["=single:planner", halfPair],
    ["planner=single:", "`single:` is incomplete; expected RUN:NAME"],
    ["planer=single", "the team has no role planer; did you mean `planner`?"],
    ["planner=single,planner=roles", "the role planner is named twice"],
    ["planner=singel:planner", "there is no run singel in runs; did you mean `single`?"],
    ["planner=single:plannr", "single has no role and no policy plannr; did you mean `planner`?"],
    ["planner=runs/prompts/models/nano:scout", "omit `:scout`"],
    ["planner=runs", "neither a run (no recipe.yaml) nor a model directory"],
  ])("--policies %s", async (policies, message) => {
    const { code, stdout, stderr } = await evaluate("roles", "--policies", policies);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toContain(message);
  });

  it("a model that lacks words of the environment", async () => {
    const { code, stderr } = await evaluate("larger", "--policies", "planner=roles:planner");
    expect(code).toBe(2);
    expect(stderr).toMatch(/tokenizer of roles:planner lacks \d+ of the \d+ words of plan-path: .*size=3/);
  });

  it("a run without a checkpoint", async () => {
    await cp(join(cwd, "runs", "roles"), join(cwd, "runs", "damaged"), { recursive: true });
    await rm(join(cwd, "runs", "damaged", "checkpoints"), { recursive: true });
    const { code, stderr } = await evaluate("roles", "--policies", "planner=damaged:planner");
    expect(code).toBe(1);
    expect(stderr).toContain("has no checkpoint of");
  });
});

describe("troupe eval --samples", () => {
  it("plays each task several times and estimates pass@k", async () => {
    const several = ["--samples", "3", "--pass-at", "1,3", "--temperature", "1"];
    const { code, stdout } = await evaluate("roles", ...several, "--json");
    expect(code).toBe(0);
    const found = JSON.parse(stdout) as { success: number; passAt: Record<string, { mean: number }> };
    expect(found).toMatchObject({ tasks: 4, samples: 3 });
    expect(Object.keys(found.passAt)).toEqual(["1", "3"]);
    expect(found.passAt["1"]?.mean).toBeCloseTo(found.success, 12);
    expect((await evaluate("roles", ...several)).stdout).toMatch(/^pass@3 \d/m);
  });

  it.each([
    [["--samples", "3"], "at temperature 0 all samples of a task are the same"],
    [["--pass-at", "1,5", "--temperature", "1"], "pass@5 needs at least 5 samples of each task, not 1"],
  ])("%j is rejected", async (options, message) => {
    const { code, stdout, stderr } = await evaluate("roles", ...options);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toContain(message);
  });
});
