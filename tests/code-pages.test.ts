/** The programs of docs/code.md and docs/sandbox.md, verbatim, in a user's project. */
import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, expect, it } from "vitest";
import { runCommand } from "../src/cli/testing/command.ts";
import { works } from "../src/environments/code/testing/sandbox.ts";

const root = path.join(import.meta.dirname, "..");
const project = mkdtempSync(path.join(tmpdir(), "troupe-code-pages-"));
afterAll(() => rmSync(project, { recursive: true }));

const write = (name: string, text: string): void => writeFileSync(path.join(project, name), text);
const page = readFileSync(path.join(root, "docs", "sandbox.md"), "utf8");
for (const [, program = "", name = ""] of page.matchAll(/```ts\n(\/\/ (\w+\.ts)\n.*?)```/gs))
  write(name, program);
cpSync(path.join(root, "examples", "brief-replies"), project, { recursive: true });
// As installed; the sources stand in for the build.
const installed = path.join(project, "node_modules", "troupe");
mkdirSync(installed, { recursive: true });
write("node_modules/troupe/package.json", '{ "type": "module", "exports": "./index.js" }');
const sources = pathToFileURL(path.join(root, "src", "index.ts")).href;
write("node_modules/troupe/index.js", `export * from ${JSON.stringify(sources)};\n`);
write("package.json", '{ "type": "module" }\n');

const problem = (id: number, sum: number) => ({
  task_id: `Own/${id}`,
  prompt: `def add${id}(a):\n    """Add ${sum}."""\n`,
  entry_point: `add${id}`,
  test: `def check(candidate):\n    assert candidate(1) == ${1 + sum}\n`,
});
write("problems.jsonl", [problem(0, 4), problem(1, 7)].map((row) => `${JSON.stringify(row)}\n`).join(""));
write(
  "brief.yaml",
  `name: brief
extends: ./recipe.yaml
environment:
  dataset: { files: problems.jsonl, form: humaneval }
  splits: { train: "test[:1]", heldOut: "test[1:]" }
policies: { helper: { model: { preset: nano } }, main: { model: { preset: nano } } }
`,
);
const main = (more: string): string => `def add1(a):\n    b = aux(a)\n    return b + 1${more}\n`;
const actions = [main(""), main(` # ${"long ".repeat(50)}`)].map((text) => ({
  task: 0,
  actions: [{ helper: "def aux(a):\n    return a + 6\n", main: text }],
}));
write("actions.jsonl", actions.map((line) => `${JSON.stringify(line)}\n`).join(""));

const paid = (local: number) => ({ team: 1, local, parts: { brief: local } });

it.runIf(works)("a module changes the reward of `code`", async () => {
  const { code, stdout, stderr } = await runCommand(["score", "brief.yaml", "actions.jsonl", "--json"], {
    cwd: project,
  });
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  const lines = stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as { readonly rewards: unknown });
  expect(lines).toMatchObject([
    { rewards: [{ helper: paid(0.1), main: paid(0.1) }] },
    { rewards: [{ helper: paid(0.1), main: paid(0) }] },
  ]);
});

it.runIf(works)("a program runs another in a sandbox and reads a data set", () => {
  const env = { ...process.env, TROUPE_CACHE: path.join(project, "cache") };
  const { stdout, stderr } = spawnSync(process.execPath, ["box.ts"], { cwd: project, encoding: "utf8", env });
  expect({ stdout, stderr }).toEqual({ stdout: "exited cba\n\n1 add0\n", stderr: "" });
});
