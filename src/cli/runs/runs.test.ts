import fs from "node:fs/promises";
import path from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { appendSteps, startRun } from "../../logging/testing/run-folder.ts";
import { acquireLock } from "../../runs/lock.ts";
import { runCommand } from "../testing/command.ts";
import { folderWith } from "../testing/folder.ts";

let root = "";
const folder = (name: string) => path.join(root, "runs", name);
beforeEach(async () => {
  root = folderWith();
  for (const name of ["one", "two"]) {
    await fs.mkdir(folder(name), { recursive: true });
    await startRun(folder(name));
  }
  await appendSteps(folder("one"), 1, 3, 0.5);
});

const runs = (...args: string[]) => runCommand(["runs", ...args], { cwd: root });

describe("runs", () => {
  it("lists what each trains and how far it is", async () => {
    const listed = JSON.parse((await runs("--json")).stdout) as object[];
    expect(listed).toMatchObject([
      { name: "one", status: "interrupted", step: 3, before: null },
      { name: "two", status: "interrupted", step: 0, before: null },
    ]);
    const [titles, , one] = (await runs()).stdout.split("\n");
    expect(titles).toMatch(/^run +status +steps +environment +algorithm +before +latest +took +changed/);
    expect(one).toMatch(/^one +interrupted +3\/\d+ /);
  });

  it("names modules by their path from here, and those of packages as they are", async () => {
    const recipe = "environment: { module: ../../mine.ts }\nalgorithm: { module: ours/rows }\n";
    await fs.writeFile(path.join(folder("two"), "recipe.yaml"), recipe);
    const listed = JSON.parse((await runs("--json")).stdout) as object[];
    expect(listed[1]).toMatchObject({ name: "two", environment: "mine.ts", algorithm: "ours/rows" });
  });
});

describe("runs plot", () => {
  it("draws a figure of metrics.jsonl as text, SVG and HTML", async () => {
    const text = (await runs("plot", "one", "--of", "policies.shared.loss")).stdout;
    expect(text).toContain("policies.shared.loss by step of reinforcement");
    expect(text).toMatch(/one: \S+ → \S+ at step 3\n$/);
    for (const [file, start] of [
      ["plot.svg", "<svg "],
      ["plot.html", "<!doctype html>"],
    ] as const) {
      await runs("plot", "one", "--of", "policies.shared.loss", "--out", file);
      const written = await fs.readFile(path.join(root, file), "utf8");
      expect(written.startsWith(start)).toBe(true);
      expect(written.match(/class="line"/g)).toHaveLength(2);
    }
  });

  it("names the figures that there are, and rejects other files", async () => {
    const missing = await runs("plot", "one", "--of", "loss");
    expect(missing.stderr).toContain("one has no figure loss; it has policies.shared.loss");
    const misspelt = await runs("plot", "one", "--of", "policies.shared.los");
    expect(misspelt.stderr).toContain("did you mean `policies.shared.loss`?");
    // What is measured is the last part of a name.
    const elsewhere = await runs("plot", "one", "--of", "rollout.los");
    expect(elsewhere.stderr).toContain("one has no figure rollout.los; it has policies.shared.loss\n");
    expect((await runs("plot", "one", "--of", "zzz")).stderr).toContain("it has success, ");
    expect((await runs("plot", "one", "--of", "policies.shared.loss", "--out", "a.png")).stderr).toContain(
      "a.png: the file's name must end in .svg or .html",
    );
    expect((await runs("plot", "two")).stderr).toContain("two was not evaluated yet");
  });
});

const inTerminal = (columns: number) => runCommand("runs", { cwd: root, env: { COLUMNS: String(columns) } });

it("shows the algorithm in 80 columns, and cuts long names before", async () => {
  const long = "a-name-that-says-what-differs-from-all-others-1";
  await fs.rename(folder("two"), folder(long));
  const lines = (await inTerminal(80)).stdout.trimEnd().split("\n");
  expect(lines[0]).toMatch(/^run +status +steps +environment +algorithm +before +latest$/);
  expect(lines[2]).toMatch(/^a-name-.*….*others-1 +interrupted /);
  expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(80);
  expect((await inTerminal(140)).stdout).toContain(long);
});

it("tells runs of the same name apart by their folders", async () => {
  await fs.cp(folder("one"), path.join(root, "more", "one"), { recursive: true });
  const both = [path.join("runs", "one"), path.join("more", "one")];
  const plotted = (await runs("plot", ...both, "--of", "policies.shared.loss")).stdout;
  expect(plotted).toMatch(/ \* runs\/one: .*\n {2}o more\/one: /);
  const compared = JSON.parse((await runs("compare", ...both, "--json")).stdout) as { runs: string[] };
  expect(compared.runs).toEqual(["runs/one", "more/one"]);
});

it("compares a run that did not end by its last evaluation", async () => {
  const [one, part] = [folder("one"), path.join(root, "more", "part")];
  await fs.cp(one, part, { recursive: true });
  const before = { schema_version: 1, moment: "before", team: "team", step: 0, tasks: 4, successes: 1 };
  const rest = { low: 0, high: 1, score: 0, turns: 1, successByTurn: [], promptTokens: 1, sampledTokens: 1 };
  const later = { ...before, moment: "during", step: 3, successes: 2 };
  const lines = [before, later].map((row) => JSON.stringify({ ...row, success: row.successes / 4, ...rest }));
  await fs.writeFile(path.join(part, "evaluations.jsonl"), `${lines.join("\n")}\n`);
  const { stdout } = await runs("compare", "one", part);
  expect(stdout).toMatch(/^team before .* 25\.0 % \(0\.0 to 100\.0\)$/m);
  expect(stdout).toMatch(/^team after .* 50\.0 % \(0\.0 to 100\.0\), \w+ after step 3$/m);
});

describe("runs rm", () => {
  it("deletes runs if --yes allows it, and nothing else", async () => {
    const asked = await runs("rm", "one");
    expect(asked.stderr).toContain("needs --yes");
    const { stdout } = await runs("rm", "one", "--yes");
    expect(stdout).toBe(`deleted ${folder("one")}\n`);
    expect(await fs.readdir(path.join(root, "runs"))).toEqual(["two"]);
    expect((await runs("rm", "one", "--yes")).stderr).toContain("there is no run one");
  });

  it("takes a path with dots as one from the working directory", async () => {
    const { stderr, code } = await runs("rm", "../runs/one", "--yes");
    expect([code, stderr]).toEqual([2, expect.stringContaining("there is no directory ../runs/one")]);
    expect((await runs("rm", "./runs/one", "--yes")).stdout).toBe(`deleted ${folder("one")}\n`);
  });

  it("keeps a project that has a file recipe.yaml", async () => {
    const project = path.join(root, "project");
    await fs.mkdir(path.join(project, "thesis"), { recursive: true });
    await fs.writeFile(path.join(project, "recipe.yaml"), "name: mine\n");
    const { stderr, code } = await runs("rm", project, "--yes");
    expect(code).toBe(2);
    expect(stderr).toContain(`${project} is not deleted: it has no records of a training, but thesis`);
    expect(await fs.readdir(project)).toEqual(["recipe.yaml", "thesis"]);
  });

  it("removes only the link to a run elsewhere", async () => {
    const elsewhere = path.join(root, "elsewhere");
    await fs.rename(folder("one"), elsewhere);
    await fs.symlink(elsewhere, folder("one"));
    const before = await fs.readdir(elsewhere);
    expect((await runs("rm", "one", "--yes")).stdout).toContain(`the run stays in ${elsewhere}`);
    expect(await fs.readdir(path.join(root, "runs"))).toEqual(["two"]);
    expect(await fs.readdir(elsewhere)).toEqual(before);
  });

  it("keeps a run that is being written", async () => {
    const lock = await acquireLock(folder("two"));
    const { stderr, code } = await runs("rm", "two", "--yes");
    expect(code).toBe(3);
    expect(stderr).toContain(`is being written by process ${process.pid}: wait for it, or stop it.`);
    await lock.release();
    expect(await fs.readdir(path.join(root, "runs"))).toEqual(["one", "two"]);
  });
});
