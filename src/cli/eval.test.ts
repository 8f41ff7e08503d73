/** `troupe eval --policies` as a user runs it, on runs of a few seconds. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Outcome } from "./testing/command.ts";
import { runCommand } from "./testing/command.ts";

const roles = `name: roles
environment: { name: plan-path, size: 3 }
team:
  roles: { scout: { policy: scout, prompt: "" }, planner: { policy: planner, prompt: "" } }
  phases: [[scout], [planner]]
  turns: 2
policies: { scout: { model: { preset: nano } }, planner: { model: { preset: nano } } }
algorithm: { name: at-grpo, samples: 2 }
warmStart: { steps: 10, demonstrationsPerStep: 8, learningRate: 0.003 }
train: { steps: 1, tasksPerStep: 2, learningRate: 0.001 }
evaluation: { tasks: 4 }
engine: { threads: 1 }
`;

const single = `extends: roles.yaml
name: single
team: { roles: { scout: null }, phases: [[planner]] }
policies: { scout: null }
`;

const prompts = `extends: roles.yaml
name: prompts
policies: { scout: { model: { preset: nano } }, planner: { model: { preset: nano } } }
warmStart: null
train: { steps: 0 }
`;

let cwd: string;
beforeAll(async () => {
  cwd = await mkdtemp(join(tmpdir(), "troupe-eval-"));
  for (const [name, recipe] of Object.entries({ roles, single, prompts })) {
    await writeFile(join(cwd, `${name}.yaml`), recipe);
    await runCommand(["train", `${name}.yaml`], { cwd });
  }
  await runCommand(["train", "single.yaml", "environment.size=4", "train.steps=0", "--run", "larger"], {
    cwd,
  });
});
afterAll(() => rm(cwd, { recursive: true }));

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

  it.each([
    [
      "trained alone, evaluated in the team",
      ["roles", "--policies", "planner=single:planner"],
      "roles:scout",
      "single:planner",
    ],
    [
      "a run alone means its role of this name",
      ["roles", "--policies", "planner=single"],
      "roles:scout",
      "single:planner",
    ],
    [
      "given one by one",
      ["roles", "--policies", "planner=single", "--policies", "scout=prompts"],
      "prompts:scout",
      "single:planner",
    ],
    [
      "an older checkpoint",
      ["roles", "--policies", "planner=runs/roles/checkpoints/step-10:planner"],
      "roles:scout",
      "roles:planner",
    ],
    [
      "a model directory",
      ["roles", "--policies", "scout=runs/prompts/models/nano"],
      "runs/prompts/models/nano",
      "roles:planner",
    ],
    [
      "a run of another team form in a recipe",
      ["single", "--recipe", "roles.yaml"],
      "single:planner",
      "single:planner",
    ],
    ["a run in which nothing was trained", ["prompts"], "prompts:scout", "prompts:planner"],
  ])("%s", async (_, args, scout, planner) => {
    expect(await playedBy(...args)).toEqual({ scout, planner });
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
    ["half a pair", ["planner="], halfPair],
    ["no source", ["planner"], halfPair],
    ["no role", ["=single:planner"], halfPair],
    ["nothing after the colon", ["planner=single:"], "`single:` is incomplete; expected RUN:NAME"],
    ["a role the team lacks", ["planer=single"], "the team has no role planer; did you mean `planner`?"],
    ["a role twice", ["planner=single,planner=roles"], "the role planner is named twice"],
    ["an unknown run", ["planner=singel:planner"], "there is no run singel in runs; did you mean `single`?"],
    [
      "an unknown role of the run",
      ["planner=single:plannr"],
      "single has no role and no policy plannr; did you mean `planner`?",
    ],
    ["a role of a model directory", ["planner=runs/prompts/models/nano:scout"], "omit `:scout`"],
    ["a folder that is neither", ["planner=runs"], "neither a run (no recipe.yaml) nor a model directory"],
  ])("%s", async (_, policies, message) => {
    const { code, stdout, stderr } = await evaluate(
      "roles",
      ...policies.flatMap((text) => ["--policies", text]),
    );
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toContain(message);
  });

  it("a model that lacks words of the environment", async () => {
    const { code, stderr } = await evaluate("larger", "--policies", "planner=roles:planner");
    expect(code).toBe(2);
    expect(stderr).toMatch(/tokenizer of roles:planner lacks \d+ of the \d+ words of plan-path: .*size=3/);
  });

  it("a run without a checkpoint", async () => {
    await runCommand(["train", "roles.yaml", "--run", "damaged"], { cwd });
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
