/** Errors as they are shown: whose they are, and without escape sequences and endless names of what others made. */
import { cp, mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, expect, it } from "vitest";
import { checkStep } from "../environments/contract.ts";
import { plainContext, startEpisode } from "../environments/progression.ts";
import { rememberModule } from "../environments/origin.ts";
import { numbers } from "../rollout/testing/numbers.ts";
import { rootKey } from "../random.ts";
import { describeError } from "./exit.ts";
import { makeModel } from "../models/test-model.ts";
import { runCommand } from "./testing/command.ts";
import { folderWith } from "./testing/folder.ts";

/** What is thrown by the work, as shown to the user. */
async function shown(work: () => unknown): Promise<string> {
  try {
    await work();
    return "nothing";
  } catch (error) {
    return describeError(error, false);
  }
}

/** Says this when it starts. */
function throwing(said: unknown): typeof numbers {
  return {
    ...numbers,
    start: () => {
      throw said;
    },
  };
}

const start = (environment: typeof numbers) => startEpisode(environment, {}, plainContext(rootKey(1)));

it("what an environment of a module does wrong names the environment and its module", async () => {
  const named = throwing("no coins");
  rememberModule(named, "./coins.ts");
  const whose = `environment ${numbers.name} (./coins.ts)`;
  expect(await shown(() => start(named))).toContain(`\`start\` of the ${whose} threw "Error: no coins"`);
  const broken = await shown(() => checkStep(named, [], { done: true }));
  expect(broken).toMatch(
    /^error: the environment .* \(\.\/coins\.ts\): `step` is \{"done":true\}; expected /,
  );
  expect(broken).not.toContain("bug");
});

it("an error from writing to a state explains that states never change", async () => {
  const frozen = Object.freeze({ said: 1 });
  const changing = {
    ...numbers,
    start: () => Object.assign(frozen, { said: 2 }),
  };
  rememberModule(changing, "./coins.ts");
  expect(await shown(() => start(changing))).toContain("States and what is in them never change");
});

it("what a built-in environment does wrong is a bug", async () => {
  const own = { ...numbers };
  expect(await shown(() => checkStep(own, [], { done: true }))).toContain("This is a bug");
});

/** The window's title, a cleared screen, a colour in its one-character form, text turned around, DELETE. */
const controls = "\u001B]0;title\u0007\u001B[2J\u009B31m\u202E\u007F";
const quoted = JSON.stringify(controls);

const recipe = (model: string): string => `name: hostile
environment: { name: plan-path, size: 3 }
team: { roles: { planner: { policy: own, prompt: "" } }, turns: 1 }
policies: { own: { model: { path: ${model} } } }
algorithm: { name: grpo, samples: 2 }
train: { steps: 1, tasksPerStep: 1, learningRate: 0.001 }
`;

const binary = Uint8Array.from({ length: 5000 }, (_, at) => (at * 7) % 256);
const cwd = folderWith({ "keys.yaml": `${quoted}: 1\ntrain: { ${quoted}: 2 }\n`, "binary.yaml": binary });
beforeAll(async () => {
  const model = await makeModel(cwd, "plain");
  for (const name of ["json", "tensor"]) await cp(model, join(cwd, name), { recursive: true });
  await runCommand("init nano template --bytes", { cwd });
  for (const name of ["template", "json", "tensor"]) await writeFile(join(cwd, `${name}.yaml`), recipe(name));
  await writeFile(join(cwd, "template", "chat_template.jinja"), `{{ raise_exception(${quoted}) }}`);
  await writeFile(join(cwd, "json", "config.json"), `{"a": ${controls}`);
  await renameTensor(join(cwd, "tensor", "model.safetensors"), controls + "x".repeat(100_000));
  await mkdir(join(cwd, "runs", "held"), { recursive: true });
  const holder = { pid: 1, started: "x", host: `a${controls}b`, namespace: "" };
  await writeFile(join(cwd, "runs", "held", "lock-1-abcd"), JSON.stringify(holder));
});

/** Renames the file's first tensor. */
async function renameTensor(file: string, name: string): Promise<void> {
  const bytes = await readFile(file);
  const end = 8 + Number(bytes.readBigUInt64LE(0));
  const header = Object.entries(JSON.parse(bytes.toString("utf8", 8, end)) as object);
  const first = header.findIndex(([key]) => key !== "__metadata__");
  const renamed = Buffer.from(
    JSON.stringify(Object.fromEntries(header.map(([key, value], at) => [at === first ? name : key, value]))),
  );
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(renamed.length));
  await writeFile(file, Buffer.concat([length, renamed, bytes.subarray(end)]));
}

it.each([
  ["an option", ["train", "plan-path", `--${controls}`], "unknown option"],
  ["an argument", [controls], "unknown command"],
  ["an override", ["train", "plan-path", `train.${controls}=1`, "--dry-run"], "train."],
  ["keys", ["train", "keys.yaml", "--dry-run"], "unknown key"],
  ["a binary file", ["train", "binary.yaml", "--dry-run"], "binary.yaml: it is not a text file"],
  ["a chat template's exception", ["train", "template.yaml"], "chat template"],
  ["a damaged configuration", ["train", "json.yaml"], "config.json is not valid JSON"],
  ["a tensor's name of 100 kB", ["train", "tensor.yaml"], "tensor"],
  ["a lock's host", ["train", "plan-path", "--run", "held"], "is being written by process 1 on a"],
])("%s with control characters is shown without them, and shortened", async (_, args, message) => {
  const { code, stdout, stderr } = await runCommand(args, { cwd });
  expect(code).not.toBe(0);
  expect(stdout + stderr).not.toMatch(/[^\P{C}\n]/u);
  expect(stderr).toContain(message);
  expect(stderr).not.toContain("This is a bug");
  expect(stderr.length).toBeLessThan(4000);
});
