import { mkdir, readdir, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { listenAt } from "../calls/listen.ts";
import { runCommand, troupe, type Words } from "./testing/command.ts";
import { folderWith } from "./testing/folder.ts";

const cwd = folderWith({
  "wrong.yaml": "extends: nowhere.yaml\n",
  "many.yaml": `name: x\n${Array.from({ length: 300 }, (_, key) => `key${key}: 1\n`).join("")}`,
  "model-path.yaml": "name: x\nseed: 1.5\ntrain:\n  stepz: 3\n",
});
const root = join(import.meta.dirname, "..", "..");

/** Commands, and what they say. */
const mistakes: Readonly<Record<string, string | RegExp | readonly (string | RegExp)[]>> = {
  trian: ["unknown command 'trian'", "Did you mean train?"],
  "trian --help": ["unknown command 'trian'", "Did you mean train?"],
  "train plan-path --freshh": ["unknown option '--freshh'", "--fresh"],
  "train plan-path --train.steps=3": "write train.steps=… without dashes",
  train: "missing required argument 'recipe'",
  "train plan-paht": "there is no recipe plan-paht; did you mean `plan-path`?",
  "train wrong": "there is no recipe wrong; did you mean the file `wrong.yaml`?",
  "train wrong.yml": "did you mean the file `wrong.yaml`?",
  "train magrpo": "no recipe magrpo; there are algorithms/magrpo, magrpo-list-programs/magrpo",
  "train mt-magrpo-hee": "no recipe mt-magrpo-hee; did you mean `mt-magrpo-he`?",
  "train scaling": "its recipes are scaling/k-2, scaling/k-4",
  "train .": ". is a folder, not a recipe; included recipes: ",
  [`train ${root}/experiments/scaling.yaml`]:
    /scaling\.yaml:2:1: this is an experiment, not a recipe; run it with `troupe experiment .*scaling\.yaml`/,
  [`experiment ${root}/docs/results/scaling.json --report . --dry-run`]:
    /scaling\.json is a report, of which this command only makes the pages again: leave --dry-run out, or/,
  "experiment no.json": "the report no.json: there is no such file",
  "experiment scaling --seeds ": "Expected a whole number, at least 0.",
  "train plan-path algorithm.samples=1":
    /a whole number, at least 2, found 1; a group of one has advantage 0.*`name: reinforce`/,
  'train plan-path algorithm={"name":"magrpo","samples":8}':
    /algorithm\.samples: with 8 samples .* 4096 joint actions; use at most 2 samples, `handOver: best`/,
  "train train.steps=3 plan-path": "give the recipe first",
  "train plan-path train.stepz=3 --override seed=-1 train.topK=x --dry-run": [
    "3 mistakes in the recipe:",
    "override `train.stepz=3`: train.stepz: unknown key; did you mean `steps`?",
    "override `seed=-1`: seed: expected a whole number, at least 0, found -1",
    'override `train.topK=x`: train.topK: expected a whole number, at least 0, found "x"',
  ],
  "train model-path.yaml": [
    "model-path.yaml:2:7: seed: expected a whole number",
    "model-path.yaml:4:3: train.stepz: unknown key",
  ],
  "train my/none.yaml": /there is no file my\/none\.yaml, relative to \//,
  "train https://example.com/a.yaml": "is an address, not a recipe",
  "train Qwen/Qwen2.5-0.5B-Instruct":
    "`hf download Qwen/Qwen2.5-0.5B-Instruct --local-dir models/Qwen2.5-0.5B-Instruct`",
  'train plan-path policies.shared.model={"preset":null,"path":"Qwen/Qwen3-1.7B"}': [
    "as a model of the Hugging Face hub it must be fetched first",
    "`path: models/Qwen3-1.7B`",
  ],
  "train many.yaml": /^error: 305 mistakes in the recipe:\n( {2}.*\n){20} {2}and 285 more\n$/,
  "train wrong.yaml": /wrong\.yaml:1:10: cannot read nowhere\.yaml/,
  "train mt-magrpo-he environment.feedback=expert_edits":
    "environment.expert: missing; expected a model, such as `{ provider: deepseek, model: deepseek-coder }`, for",
  "train mt-magrpo-he magrpo.sandbox_slice=two":
    'environment.sandboxSlice: expected a whole number or null, found "two"',
  'train magrpo-he environment.dataset={"files":"a.jsonl","form":"humaneval","failing":"kepp"}':
    /^error: override .*dataset\.failing: expected one of skip, keep, found "kepp"; did you mean keep\?\n$/,
  "train plan-path --run ../up":
    "`../up` is not a valid run name; use letters from A to Z, digits, dots, dashes and underscores",
  "eval nothing": "there is no run nothing in runs",
  "eval models/none --recipe plan-path": "there is no directory models/none, relative to",
  "eval x --tasks many": "Expected a whole number, at least 1.",
  "init tinny": ["there is no preset tinny; did you mean `tiny`?", "layers"],
  "init nano --environment plan-pth": "did you mean `plan-path`?",
  "play plan-path --role planer": "no role planer; did you mean `planner`?",
  [`play ${root}/examples/agents-ai-sdk/recipe.yaml`]:
    "command is played by its own program, in which nobody can take a seat",
  play: "name a recipe or an environment",
  "runs compare": ["missing required argument 'runs'", "`troupe runs compare --help`"],
  "eval .": "neither a run (no recipe.yaml) nor a model",
  "view /etc": ["/etc is neither a run (no recipe.yaml) nor", "`troupe train plan-path` creates one"],
  "view --episodes 3": "--episodes is how many an exported file has: it needs --export FILE",
  "runs plto": "did you mean `plot`?",
  "runs compare a": "there is no run a",
};

const run = (args: Words) => runCommand(args, { cwd });

describe("usage errors: exit code 2, one clear message, no stack, nothing written", () => {
  it.each(Object.entries(mistakes))("%s", async (line, messages) => {
    const { code, stdout, stderr } = await run(line);
    expect(code).toBe(2);
    expect(stdout).toBe("");
    for (const message of [messages].flat()) expect(stderr).toMatch(message);
    expect(stderr).not.toMatch(/^\s+at /m);
    expect((await readdir(cwd)).toSorted()).toEqual(["many.yaml", "model-path.yaml", "wrong.yaml"]);
  });

  it("is the same in a process of its own", async () => {
    const here = await run("trian");
    expect(await troupe("trian", { cwd })).toEqual(here);
  });

  it("shows the stack on request", async () => {
    const env = { TROUPE_DEBUG: "1" };
    const { code, stderr } = await runCommand("train nothing", { cwd, env });
    expect(code).toBe(2);
    expect(stderr).toMatch(/^\s+at .*shipped/m);
  });
});

it("what a module throws is not called a bug of Troupe: the line is named", async () => {
  const seats = '{ one: { purpose: "", prompt: "", maxTokens: 1 } }';
  const tasks = "{ train: { size: 1, at: () => 0 }, heldOut: { size: 1, at: () => 1 } }";
  const rest = "step() {}, outcome() {}, render: String";
  const made = `{ name: "bad", seats: ${seats}, tasks: ${tasks},\n start() { nothing(); }, observe: String, ${rest} }`;
  const folder = folderWith({
    "bad.mjs": `export default { options: { parse: (x) => x }, create: () => (${made}) };`,
  });
  const { code, stderr } = await runCommand("play bad.mjs", { cwd: folder });
  const whose = `\`start\` of the environment bad (${join(folder, "bad.mjs")})`;
  const threw = `${whose} threw "ReferenceError: nothing is not defined" (bad.mjs:2:12)`;
  expect({ code, stderr }).toEqual({ code: 1, stderr: `error: ${threw}; TROUPE_DEBUG=1 shows the stack.\n` });
});

describe("without a run", () => {
  it("help and version exit with 0", async () => {
    const help = await run("--help");
    expect(help).toMatchObject({ code: 0, stderr: "" });
    expect(help.stdout).toMatch(/train .*eval .*sft .*init .*play .*recipes .*runs /s);
    expect((await run("--version")).stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
  });

  it("recipes lists the included recipes, as a table and as JSON, and prints the schema", async () => {
    const table = await run("recipes");
    expect(table.stdout).toMatch(/^plan-path: A scout .*\nplan-path +at-grpo +1 model +\d+ +\d/m);
    expect(table.stdout).toMatch(/^plan-path-prompt-only +none +[^ ]/m);
    expect(table.stdout).toMatch(
      /^scaling: .*`troupe experiment scaling`.*\n\nrecipe .*\n─.*\nscaling\/k-2 +at-grpo/m,
    );
    expect(table.stdout.indexOf("plan-path: ")).toBeLessThan(table.stdout.indexOf("scaling: "));
    for (const line of table.stdout.split("\n")) expect(line.length).toBeLessThanOrEqual(120);
    const folder = await run("recipes scaling");
    expect(folder.stdout).toMatch(/^scaling: rows of an experiment; .*scaling\/k-2 .*K = 2 instead of 8/s);
    expect(folder.stdout).not.toContain("plan-path-single");
    const one = await run("recipes plan-path-single");
    expect(one.stdout).toMatch(
      /^plan-path-single: One agent .*\nplan-path; grpo trains 1 model; expected: \d+ minutes on two cores, [\d.]+ % of held-out tasks\n/,
    );
    expect(one.stdout).toContain("\nextends: plan-path.yaml\n");
    const critics = await run("recipes algorithms");
    expect(critics.stdout).toMatch(/^algorithms\/ppo +ppo +1 model, 2 critics +\d+ +[\d.]+ % +PPO/m);
    expect(critics.stdout).toMatch(/^algorithms\/maac +maac +1 model, 1 critic +\d+ +[\d.]+ % +MAAC/m);
    const short = await run("recipes k-2");
    expect(short.stdout).toMatch(/^scaling\/k-2: /);
    const wrong = await run("recipes kk-2");
    expect(wrong).toMatchObject({ code: 2, stderr: "error: there is no recipe kk-2; did you mean `k-2`?\n" });
    const listed = JSON.parse((await run("recipes --json")).stdout) as {
      name: string;
    }[];
    expect(listed.find(({ name }) => name === "plan-path-adapters")).toMatchObject({
      environment: "plan-path",
      algorithm: "at-grpo",
      policies: "2 adapters",
      critics: 0,
      success: expect.any(Number) as number,
    });
    const schema = JSON.parse((await run("recipes --schema")).stdout) as {
      properties: object;
    };
    expect(Object.keys(schema.properties)).toContain("warmStart");
  });

  it("the name of a run in place of a recipe's is recognised", async () => {
    await mkdir(join(cwd, "runs", "mine"), { recursive: true });
    await writeFile(join(cwd, "runs", "mine", "recipe.yaml"), "");
    const { stderr } = await run("play mine");
    await rm(join(cwd, "runs"), { recursive: true });
    expect(stderr).toContain("mine is a run, not a recipe; to play with its team: `troupe play --run mine`");
  });

  it("a folder of runs in place of a run is recognised", async () => {
    await mkdir(join(cwd, "kept", "mine"), { recursive: true });
    await writeFile(join(cwd, "kept", "mine", "recipe.yaml"), "");
    const { stderr } = await run("view kept");
    await rm(join(cwd, "kept"), { recursive: true });
    expect(stderr).toContain("name one of its runs, with --runs kept: mine");
  });

  it("a port that is in use is reported as such", async () => {
    const taken = createServer();
    const port = new URL(await listenAt(taken, { host: "127.0.0.1", port: 0 })).port;
    const { code, stderr } = await runCommand(["view", "--port", port], { cwd });
    taken.close();
    const message = `Cannot listen at 127.0.0.1:${port}: another program uses this port. Choose another port, 0 for`;
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining(message) as string });
  });

  it("runs says so when there are none", async () => {
    const { code, stdout } = await run("runs");
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout: "no runs in runs; `troupe train plan-path` creates one\n",
    });
    expect((await run("runs --json")).stdout).toBe("[]\n");
  });
});
