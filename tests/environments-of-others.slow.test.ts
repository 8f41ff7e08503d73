/**
 * The examples of docs/environments-of-others.md, as their readers run them: real servers and packages of Python, trained
 * by the local engine. Each is skipped without its package: TROUPE_OPENENV_PYTHON, TROUPE_VERIFIERS_PYTHON and
 * TROUPE_HARBOR_PYTHON name interpreters that have them; otherwise it is python3.
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, it } from "vitest";
import { troupe } from "../src/cli/testing/command.ts";
import type { StepMetrics } from "../src/runs/records.ts";
import { mean } from "../src/statistics.ts";
import { hasOpenEnv, startServer, type StartedServer } from "./openenv/starting.ts";

const folder = mkdtempSync(join(tmpdir(), "troupe-others-"));
afterAll(() => rmSync(folder, { recursive: true }));

const recipeOf = (example: string) =>
  fileURLToPath(new URL(`../examples/${example}/recipe.yaml`, import.meta.url));
const train = (recipe: string, run: string, ...overrides: readonly string[]) =>
  troupe(["train", recipe, "--run", run, "evaluation.every=0", ...overrides], { cwd: folder });

const fileOf = (run: string) => join(folder, "runs", run, "metrics.jsonl");

function stepsOf(run: string): readonly StepMetrics[] {
  const lines = readFileSync(fileOf(run), "utf8").trim().split("\n");
  return lines.map((line) => JSON.parse(line) as StepMetrics);
}
const scoresOf = (run: string) => stepsOf(run).map(({ rollout }) => rollout?.score ?? Number.NaN);

/** Null: no such interpreter has the package. */
function pythonWith(variable: string, imports: string): string | null {
  const python = process.env[variable] ?? "python3";
  const found = spawnSync(python, ["-c", `import ${imports}, sys; print(sys.executable)`], { cwd: folder });
  return found.status === 0 ? String(found.stdout).trim() : null;
}

describe.skipIf(!hasOpenEnv)("an OpenEnv server", { timeout: 1_800_000 }, () => {
  it("teaches, although it is killed and started again meanwhile", async () => {
    const script = "../../examples/openenv/server.py";
    const server = await startServer(script, {});
    const port = Number(new URL(server.url).port);
    const again = Promise.withResolvers<StartedServer>();
    let isKilled = false;
    const watch = (output: string): void => {
      if (isKilled || !/\b5\/20\b/.test(output)) return;
      isKilled = true;
      server
        .kill()
        .then(() => startServer(script, {}, port))
        .then(again.resolve, again.reject);
    };
    const args = ["train", recipeOf("openenv"), "--run", "openenv", `environment.url=${server.url}`];
    const more = ["train.steps=20", "evaluation.every=0"];
    const first = await troupe([...args, ...more], { cwd: folder, watch });
    expect(isKilled).toBe(true);
    const other = await again.promise;
    // A server that is away for longer than episodes are tried again stops the training, with a checkpoint.
    const outcome = first.code === 1 ? await troupe([...args, ...more], { cwd: folder }) : first;
    await other.kill();
    expect(outcome).toMatchObject({ code: 0 });
    const scores = scoresOf("openenv");
    expect(scores).toHaveLength(20);
    // Measured: 0.08 and 0.44. The arithmetic of a processor decides which actions are sampled.
    expect(mean(scores.slice(0, 4))).toBeLessThan(0.2);
    expect(mean(scores.slice(-5))).toBeGreaterThan(0.3);
  });

  it("of a game for two trains both players, each by what it won", async () => {
    const server = await startServer("server.py", { GAME: "nim", SESSIONS: "8" });
    const recipe = join(folder, "nim.yaml");
    writeFileSync(
      recipe,
      `name: nim
environment:
  name: openenv
  url: ${server.url}
  player: { field: player }
  observation: "{stones} left"
  memory: turn
  rewards: zero-sum
  bounds: [-1, 1]
  errors: action
  sessions: 8
  words: ["1", "2", "3", "4", "5", left]
team:
  roles: { first: { policy: shared, maxTokens: 1 }, second: { policy: shared, maxTokens: 1 } }
  turns: 3
policies: { shared: { model: { preset: nano } } }
algorithm: { name: mas-grpo, reward: rewards, samples: 8 }
train: { steps: 3, tasksPerStep: 2, learningRate: 0.0015 }
evaluation: { tasks: 2 }
`,
    );
    const rejected = await train(recipe, "nim", "algorithm.reward=outcome");
    expect(rejected).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("the seats of openenv compete"),
    });
    const { code, stderr } = await train(recipe, "nim");
    await server.kill();
    expect({ code, stderr }).toMatchObject({ code: 0 });
    expect(scoresOf("nim").slice(0, 3).every(Number.isFinite)).toBe(true);
  });
});

const hasBubblewrap = spawnSync("bwrap", ["--version"]).error === undefined;

describe.each([
  { example: "verifiers", python: pythonWith("TROUPE_VERIFIERS_PYTHON", "verifiers.v1") },
  {
    example: "harbor",
    python: hasBubblewrap ? pythonWith("TROUPE_HARBOR_PYTHON", "harbor.models.task.task") : null,
  },
])("$example", ({ example, python }) => {
  const few = ["train.steps=2", "train.tasksPerStep=2", "algorithm.samples=3", "evaluation.tasks=1"];

  it.skipIf(python === null)("is trained by the command environment", { timeout: 1_800_000 }, async () => {
    const args = ["train", recipeOf(example), "--run", example, "evaluation.every=0", ...few];
    // The recipe runs `python3`.
    const env = { PATH: `${dirname(python ?? "")}:${process.env["PATH"]}` };
    const { code, stderr } = await troupe(args, { cwd: folder, env });
    expect({ code, stderr }).toMatchObject({ code: 0 });
    expect(scoresOf(example).slice(0, 2).every(Number.isFinite)).toBe(true);
    // Every episode was rewarded: nothing failed inside.
    expect(readFileSync(fileOf(example), "utf8")).not.toContain("nothing rewards the episode");
  });
});

const read = (file: string) => readFileSync(new URL(`../${file}`, import.meta.url), "utf8");

it("the page shows the program of verifiers", () => {
  const shown = /```python\n(.*?)```/s.exec(read("docs/environments-of-others.md"))?.[1] ?? "";
  expect(read("examples/verifiers/play.py")).toContain(shown.replaceAll(/^(?=.)/gm, "    "));
});
