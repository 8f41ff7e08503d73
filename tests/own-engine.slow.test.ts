/** A user's engine: checked, trained with, and recorded in the run. */
import { appendFileSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, it } from "vitest";
import { parse } from "yaml";
import { runCommand, troupe } from "../src/cli/testing/command.ts";
import { resolveRecipe } from "../src/index.ts";

const project = mkdtempSync(join(tmpdir(), "troupe-own-engine-"));
afterAll(() => rmSync(project, { recursive: true }));
cpSync(fileURLToPath(new URL("../examples/timed-engine", import.meta.url)), project, { recursive: true });

const run = (...args: readonly string[]) => runCommand(args, { cwd: project });
/** What the engine itself prints is seen only of a process of its own. */
const runApart = (...args: readonly string[]) => troupe(args, { cwd: project });
const short = ["train.steps=2", "train.tasksPerStep=2", "evaluation.tasks=2", "checkpoint.every=1"];
const read = (...path: readonly string[]) => readFileSync(join(project, "runs", ...path), "utf8");

describe("an engine in a module", { timeout: 240_000 }, () => {
  it("is tested by the conformance kit", async () => {
    const { code, stdout } = await runApart("check", "./timed.ts", "threads=1");
    expect(stdout).toMatch(/^✓ it has the capabilities that it announces$/m);
    expect(stdout).toMatch(/^✓ losses are the sums that they are defined as$/m);
    expect(stdout).toMatch(/\nall \d+ passed\n$/);
    expect(code).toBe(0);
  });

  it("trains like the engine that it wraps, bit for bit", async () => {
    const timed = await runApart("train", "recipe.yaml", ...short);
    expect(timed.stderr).toMatch(/^forwardBackward: \d+\.\d\d s$/m);
    expect(timed.code).toBe(0);
    const local = "engine={type: local, threads: 1, precision: float32}";
    const plain = ["engine=null", local, "--run", "plain"];
    expect(await run("train", "recipe.yaml", ...short, ...plain)).toMatchObject({ code: 0 });
    expect(read("timed", "metrics.jsonl")).toBe(read("plain", "metrics.jsonl"));
  });

  it("is named by its run, evaluated again, and a change of it gives a warning", async () => {
    const { engine } = parse(read("timed", "recipe.yaml")) as { engine: Record<string, unknown> };
    expect(engine).toEqual({
      module: "../../timed.ts",
      moduleHash: expect.stringMatching(/^[0-9a-f]{16}$/) as string,
      threads: 1,
    });
    appendFileSync(join(project, "timed.ts"), "// changed\n");
    const { code, stderr } = await runApart("eval", "timed", "--tasks", "2");
    expect(stderr).toMatch(/^warning: engine\.module: .*timed\.ts has changed since the run started/m);
    expect(stderr).toMatch(/^sample: \d+\.\d\d s$/m);
    expect(code).toBe(0);
    expect((await run("runs", "weights", "timed")).stderr).toContain("servers keep nothing of timed");
  });
});

describe("a module that is no engine, or does not fit the recipe", () => {
  const kind = "options: { parse: (given) => given }";
  const weak = `{ wholeModel: true, adapters: false, losses: ["ppo"], topK: false, stopStrings: false, entropy: false,
    gradientNorm: false, critic: false, klInLoss: false, sequenceRatio: false, dualClip: false }`;
  const own = (text: string): string => `export default { ${kind}, ${text} };`;

  it.each([
    [
      "an engine",
      "export default { forwardBackward() {} };",
      [],
      /expected a kind of engine.*this is an engine: export/,
    ],
    [
      "no capabilities",
      own("open: () => ({})"),
      [],
      /expected a kind of engine.*see the example in docs\/engine\.md/,
    ],
    [
      "empty capabilities",
      own("open: () => ({}), capabilities: () => ({})"),
      [],
      /returned has a mistake: wholeModel: expected/,
    ],
    [
      "a key too many",
      own(`open: () => ({}), capability: 1, capabilities: () => (${weak})`),
      [],
      /unknown key `capability`/,
    ],
    [
      "too little for the recipe",
      own(`open: () => ({}), capabilities: () => (${weak})`),
      ["train.topK=5"],
      /train\.topK: the engine `mine` does not support top-k sampling/,
    ],
    [
      "a type beside it",
      own(`open: () => ({}), capabilities: () => (${weak})`),
      ["engine={module: ./mine.ts, type: local}"],
      /engine\.module: cannot be combined with `type`; remove one, as with engine\.type=null/,
    ],
  ])("%s", async (name, text, overrides, message) => {
    // A module is loaded once by its path.
    const file = join(project, name.replaceAll(" ", "-"), "mine.ts");
    mkdirSync(dirname(file));
    writeFileSync(file, text);
    const given = ["engine=null", `engine.module=${file}`, ...overrides];
    await expect(resolveRecipe(join(project, "recipe.yaml"), given)).rejects.toThrow(message);
  });

  it("names an option that its schema does not have", async () => {
    const asked = resolveRecipe(join(project, "recipe.yaml"), ["engine.thread=1"]);
    await expect(asked).rejects.toThrow(/engine\.thread: unknown key; did you mean `threads`\?/);
  });

  it("is reported when it is opened", async () => {
    writeFileSync(join(project, "mine.ts"), own(`open: () => ({}), capabilities: () => (${weak})`));
    const { code, stdout, stderr } = await run("check", "./mine.ts");
    expect(stdout + stderr).toMatch(/`open` returned no engine: no function `createPolicy`, `removePolicy`/);
    expect(code).not.toBe(0);
  });
});
