/** A user's environment and algorithm, in every command. */
import {
  appendFileSync,
  cpSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, it } from "vitest";
import { parse } from "yaml";
import type { Outcome, Surroundings } from "../src/cli/testing/command.ts";
import { runCommand, troupe } from "../src/cli/testing/command.ts";
import { readModules } from "../src/runs/read.ts";

const root = mkdtempSync(join(tmpdir(), "troupe-Übersetzung mit Wörtern-"));
afterAll(() => rmSync(root, { recursive: true }));

const example = fileURLToPath(new URL("../examples/translation", import.meta.url));
const project = join(root, "project");
cpSync(example, project, { recursive: true });
// As created by `npm init`: without a module type.
writeFileSync(join(project, "package.json"), "{}\n");

const short = ["train.steps=3", "train.tasksPerStep=2", "evaluation.every=0", "checkpoint.every=1"];

function run(args: readonly string[], options: Partial<Surroundings> = {}): Promise<Outcome> {
  return runCommand(args, { cwd: project, ...options });
}

interface Named {
  readonly module: string;
  readonly moduleHash: string;
}

function named(folder: string): { readonly environment: Named; readonly algorithm: Named } {
  return parse(readFileSync(join(folder, "recipe.yaml"), "utf8")) as ReturnType<typeof named>;
}

describe("a recipe with modules, outside Troupe's folder", { timeout: 120_000 }, () => {
  const train = ["train", "recipe.yaml", ...short];

  it("is trained, and an interrupted run is resumed", async () => {
    const first = await troupe([...train, "--json"], {
      cwd: project,
      watch: (stdout, interrupt) => {
        if (stdout.includes('"type":"step"')) interrupt();
      },
    });
    expect(first.code).toBe(130);
    const { environment, algorithm } = named(join(project, "runs", "translation"));
    expect([environment.module, algorithm.module]).toEqual(["../../translation.ts", "../../median.ts"]);
    expect(environment.moduleHash).not.toBe(algorithm.moduleHash);
    const second = await run([...train, "--json"]);
    expect(second).toMatchObject({ code: 0, stderr: "" });
    expect(second.stdout).toContain('"type":"resumed"');
    expect(second.stdout).toContain('"type":"finished"');
    expect(second.stdout).not.toContain('"type":"warning"');
  });

  it("is evaluated and played", async () => {
    const evaluated = await run(["eval", "translation", "--json"]);
    expect(evaluated).toMatchObject({ code: 0, stderr: "" });
    expect(JSON.parse(evaluated.stdout)).toMatchObject({ team: "team", tasks: 6 });
    const withRun = await run(["play", "--run", "translation", "--role", "editor"], { input: "eins\nq\n" });
    expect(withRun).toMatchObject({ code: 0, stderr: "" });
    expect(withRun.stdout).toMatch(/edit \w+/);
    const withSolver = await run(["play", "recipe.yaml", "--role", "editor"], { input: "?\nq\n" });
    expect(withSolver).toMatchObject({ code: 0, stderr: "" });
  });

  it("is a column of an experiment, whose processes find the modules", async () => {
    const rows = "{ median: { train: {} }, mean: { train: { changes: { algorithm: { name: at-grpo } } } } }";
    const changes = "{ train: { steps: 2, tasksPerStep: 2 }, evaluation: { every: 0 } }";
    const text = `name: compared\nseeds: [1]\ncolumns: { words: { recipe: recipe.yaml, changes: ${changes} } }\nrows: ${rows}\n`;
    writeFileSync(join(project, "compared.yaml"), text);
    const done = await run(["experiment", "compared.yaml", "--runs", "cells"]);
    expect(done.code).toBe(0);
    expect(done.stderr).toMatch(/\[2 of 2\]\n$/);
    const folders = readdirSync(join(project, "cells")).filter((name) => name.startsWith("words-median"));
    expect(folders).toHaveLength(1);
    expect(named(join(project, "cells", folders[0] ?? "")).algorithm.module).toBe("../../median.ts");
  });

  it("is found after the whole project was moved, and a missing module is named", async () => {
    const moved = join(root, "moved");
    renameSync(project, moved);
    expect((await run(["eval", "translation", "--json"], { cwd: moved })).code).toBe(0);
    const again = await run(train, { cwd: moved });
    expect(again.code).toBe(0);
    renameSync(join(moved, "translation.ts"), join(moved, "other.ts"));
    const missed = await run(["eval", "translation"], { cwd: moved });
    expect(missed.code).toBe(2);
    expect(missed.stderr).toMatch(
      /^error: runs\/translation\/recipe\.yaml:\d+:\d+: environment\.module: there is no file \.\.\/\.\.\/translation\.ts, relative to runs\/translation/,
    );
    renameSync(join(moved, "other.ts"), join(moved, "translation.ts"));
    renameSync(moved, project);
  });

  it("warns if a module has changed since the run started, and records which steps it made", async () => {
    const folder = join(project, "runs", "translation");
    const begun = await readModules(folder);
    const { environment, algorithm } = named(folder);
    const before = { environment: environment.moduleHash, algorithm: algorithm.moduleHash };
    expect(begun).toEqual([{ schema_version: 1, step: 0, modules: before }]);
    appendFileSync(join(project, "median.ts"), "// changed\n");
    const warning = /^warning: algorithm\.module: .*median\.ts has changed since the run started/;
    expect((await run(["eval", "translation"])).stderr).toMatch(warning);
    rmSync(join(folder, "result.json"));
    rmSync(join(folder, "checkpoints", "step-3"), { recursive: true });
    const resumed = await run([...train, "--json"]);
    expect(resumed.code).toBe(0);
    expect(resumed.stdout).toContain('"type":"warning","key":"algorithm.module"');
    const [first, second, ...others] = await readModules(folder);
    expect([first, others]).toEqual([begun[0], []]);
    expect(second).toMatchObject({ step: 2, modules: { environment: before.environment } });
    expect(second?.modules["algorithm"]).not.toBe(before.algorithm);
  });
});
