/** Commands on a run whose programs were recorded run none of them again: here, no sandbox could. */
import { existsSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import path from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { works } from "../../environments/code/testing/sandbox.ts";
import { readEvaluations } from "../../runs/read.ts";
import { troupe, type Outcome } from "../testing/command.ts";
import { folderWith, scoutRecipe } from "../testing/folder.ts";

const shared = { policy: "shared", prompt: "" };
const recipe = scoutRecipe("small", {
  environment: { name: "list-programs" },
  team: { roles: { helper: shared, main: shared }, phases: [["helper", "main"]], turns: 1 },
  algorithm: { name: "magrpo", samples: 2 },
  warmStart: { steps: 60, demonstrationsPerStep: 32, learningRate: 0.01 },
  train: { steps: 1, tasksPerStep: 2, learningRate: 0.0001 },
  evaluation: { tasks: 4 },
});
const cwd = folderWith({ "small.yaml": recipe });
const nothing = {
  TROUPE_SANDBOX: "sandboxfusion",
  TROUPE_SANDBOX_URL: "http://127.0.0.1:1",
  TROUPE_SANDBOX_UNISOLATED: "1",
};
const withoutSandbox = (args: readonly string[]): Promise<Outcome> => troupe(args, { cwd, env: nothing });

beforeAll(async () => {
  if (works) await troupe("train small.yaml", { cwd });
});

it("without a sandbox, a training whose actions are programs ends before its warm start", async () => {
  const { code, stdout, stderr } = await withoutSandbox(["train", "small.yaml", "--run", "none"]);
  expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
  expect(stderr).toContain("Programs that models write run only in isolation, and none works here");
  expect(existsSync(path.join(cwd, "runs/none"))).toBe(false);
  const dry = await withoutSandbox(["train", "small.yaml", "--dry-run"]);
  expect({ code: dry.code, stdout: dry.stdout, stderr: dry.stderr }).toEqual({ code: 1, stdout: "", stderr });
});

describe.runIf(works)("with the programs of a run", () => {
  it("eval repeats the run's evaluation", async () => {
    const { code, stdout, stderr } = await withoutSandbox(["eval", "small", "--json"]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    const after = (await readEvaluations(path.join(cwd, "runs/small"))).at(-1);
    expect(JSON.parse(stdout)).toMatchObject({ score: after?.score, sampledTokens: after?.sampledTokens });
    const anew = await withoutSandbox([
      "eval",
      "runs/small/checkpoints/step-61/shared",
      "--recipe",
      "small.yaml",
    ]);
    expect(anew).toMatchObject({ code: 1, stderr: expect.stringContaining("127.0.0.1:1") as string });
    // Before models are loaded.
    await mkdir(path.join(cwd, "broken"));
    await writeFile(path.join(cwd, "broken/config.json"), "{}");
    const broken = await withoutSandbox(["eval", "broken", "--recipe", "small.yaml"]);
    expect(broken.stderr).toBe(anew.stderr);
  });

  it("replay finds no difference", async () => {
    const { code, stdout } = await withoutSandbox(["replay", "small"]);
    expect({ code, stdout }).toMatchObject({
      code: 0,
      stdout: expect.stringContaining("no differences") as string,
    });
  });

  it("rescore needs none", async () => {
    expect((await withoutSandbox(["rescore", "small"])).code).toBe(0);
  });
});
