/** What pages of docs/ quote is what there is, and their programs run verbatim, in a user's project. */
import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, expect, it, vi } from "vitest";
import { sandbox, works } from "../src/environments/code/testing/sandbox.ts";
import { plainReply } from "../src/environments/progression.ts";
import { scoreActions } from "../src/environments/score.ts";
import { sourceOf } from "../src/environments/tasks.ts";
import { questionOf } from "../src/judges/command/question.ts";
import { talk } from "../src/judges/testing/talk.ts";
import { rootKey } from "../src/random.ts";
import { resolveWithoutModels } from "../src/recipes/resolve.ts";
import { edgesOf } from "../src/rollout/navigate.ts";

const read = (file: string): string => readFileSync(new URL(`../${file}`, import.meta.url), "utf8");

/** Of each line without its indentation. */
const flat = (text: string): string => text.replaceAll(/^ +/gm, "");

it("docs/architecture.md quotes src/train/run.ts and src/train/step.ts verbatim", () => {
  const sources = flat(read("src/train/run.ts") + read("src/train/step.ts"));
  const quoted = [...read("docs/architecture.md").matchAll(/```ts\n([^]*?)```/g)].map(
    ([, code = ""]) => code,
  );
  expect(quoted.length).toBe(4);
  for (const code of quoted) expect(sources).toContain(flat(code));
});

const judges = read("docs/judges.md");
const judge = /```ts\n(.*?)```/s.exec(judges)?.[1] ?? "";

it("docs/judges.md lists every field of a question by name", async () => {
  const [, table = ""] = /\| `id`(.*?)\n\n/s.exec(judges) ?? [];
  const named = [...table.matchAll(/^\| (`\w+`(?:, `\w+`)*)/gm)].flatMap(([, names = ""]) =>
    [...names.matchAll(/\w+/g)].map(([name]) => name),
  );
  const episode = await talk();
  const [occurrence] = episode.nodes.flatMap((node) => edgesOf(episode, node));
  expect(named.toSorted()).toEqual(
    Object.keys(occurrence === undefined ? {} : questionOf(occurrence)).toSorted(),
  );
});

it("docs/judges.md: the program judges", () => {
  const folder = mkdtempSync(path.join(tmpdir(), "troupe-judges-page-"));
  writeFileSync(path.join(folder, "my-judge.ts"), judge);
  const actions = [
    { id: "a", task: { keywords: ["red", "blue"] }, reply: { text: "Blue, I say", truncated: false } },
    { id: "b", task: { keywords: ["red", "blue"] }, reply: { text: "red and blue", truncated: false } },
    { id: "c", task: { keywords: ["red"] }, reply: { text: "", truncated: true } },
    { id: "d", task: {}, reply: { text: "red", truncated: false } },
  ];
  const input = actions.map((action) => `${JSON.stringify(action)}\n`).join("");
  const options = { cwd: folder, input, encoding: "utf8" } as const;
  const { stdout, stderr, status } = spawnSync(process.execPath, ["my-judge.ts"], options);
  rmSync(folder, { recursive: true });
  expect({ stderr, status }).toEqual({ stderr: "", status: 0 });
  const answers = stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as unknown);
  expect(answers).toEqual([
    { id: "a", score: 0.5, explanation: "mentions blue" },
    { id: "b", score: 1, explanation: "mentions red, blue" },
    { id: "c", score: 0, explanation: "mentions " },
    { id: "d", failure: "the task has no keywords" },
  ]);
});

const root = path.join(import.meta.dirname, "..");
const project = mkdtempSync(path.join(tmpdir(), "troupe-code-pages-"));
afterAll(() => rmSync(project, { recursive: true }));

const write = (name: string, text: string): void => writeFileSync(path.join(project, name), text);
for (const [, program = "", name = ""] of read("docs/sandbox.md").matchAll(
  /```ts\n(\/\/ (\w+\.ts)\n.*?)```/gs,
))
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
const helper = plainReply("def aux(a):\n    return a + 6\n");
const actions = [main(""), main(` # ${"long ".repeat(50)}`)].map((text) => ({
  helper,
  main: plainReply(text),
}));

const paid = (local: number) => ({ team: 1, local, parts: { brief: local } });

it.runIf(works)("docs/code.md: a module changes the reward of `code`", async () => {
  vi.stubEnv("TROUPE_CACHE", path.join(project, "cache"));
  const { environment } = await resolveWithoutModels(path.join(project, "brief.yaml"));
  const source = sourceOf(environment, "heldOut");
  const task = source.size === null ? null : await source.at(0);
  // A command would prove the sandbox before it scores.
  const setting = { key: rootKey(1), services: { sandbox } };
  const scored = await Promise.all(actions.map((one) => scoreActions(environment, task, [one], setting)));
  expect(scored).toMatchObject([
    { rewards: [{ helper: paid(0.1), main: paid(0.1) }] },
    { rewards: [{ helper: paid(0.1), main: paid(0) }] },
  ]);
});

it.runIf(works)("docs/sandbox.md: a program runs another in a sandbox and reads a data set", () => {
  const env = { ...process.env, TROUPE_CACHE: path.join(project, "cache") };
  const { stdout, stderr } = spawnSync(process.execPath, ["box.ts"], { cwd: project, encoding: "utf8", env });
  expect({ stdout, stderr }).toEqual({ stdout: "exited cba\n\n1 add0\n", stderr: "" });
});

it("docs/environments-of-others.md shows the program of verifiers", () => {
  const shown = /```python\n(.*?)```/s.exec(read("docs/environments-of-others.md"))?.[1] ?? "";
  expect(read("examples/verifiers/play.py")).toContain(shown.replaceAll(/^(?=.)/gm, "    "));
});
