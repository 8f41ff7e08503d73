/**
 * `kill -9`, then the same command again: what is running × when it is killed × what must be equal to an undisturbed run.
 * Real processes and the real engine. Beside what a row names, every file of the run must have the same bytes, except for
 * wall-clock times.
 */
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { text } from "node:stream/consumers";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { python } from "../src/engines/torch/testing/interpreter.ts";
import { openOwn } from "../src/engines/torch/testing/own-worker.ts";
import { initModel } from "../src/models/init.ts";
import { drawInt, generatorOf, keyAt, rootKey } from "../src/random.ts";
import { unpacked } from "../src/rollout/ended.ts";
import { readEpisodes } from "../src/rollout/stored.ts";
import { readLines } from "../src/runs/json-lines.ts";
import { writeByteTokenizer } from "../src/text/byte-tokenizer.ts";
import type { TrainEvent } from "../src/train/events.ts";
import { train } from "../src/train/run.ts";
import { recordsOf } from "../src/train/testing/records-of.ts";
import { tinyRecipe } from "../src/train/testing/tiny-recipe.ts";
import { echoJudgeProgram } from "./support/silent-echo.ts";

const root = mkdtempSync(path.join(tmpdir(), "troupe-resume-"));
const model = path.join(root, "model");
const support = (name: string): string => path.join(import.meta.dirname, "support", name);

beforeAll(async () => {
  const tokenizer = path.join(root, "tokenizer");
  writeByteTokenizer(tokenizer);
  await initModel({ directory: model, preset: "nano", tokenizer, seed: 1, maxLength: 8192 });
});
afterAll(() => rmSync(root, { recursive: true }));

/**
 * `step 2` and `saving 2`: when that is sampled but not trained, or is being saved; at random: `early` and `write` at a disk
 * write soon after the start or in the first half, `moment` while computing or writing, `programs` when so many have started.
 */
type Kill = `step ${number}` | `saving ${number}` | "early" | "write" | "moment" | "programs";

/** What runs in a folder of its own, because adapters name the folder of their base. */
interface Row {
  readonly running: string;
  readonly script: string;
  readonly given: readonly string[];
  readonly kills: readonly Kill[];
  /** Names of files that must be there to compare. */
  readonly files?: readonly string[];
  readonly alsoEqual?: (whole: string, parts: string) => void;
}

const times = <Value>(count: number, value: Value): Value[] => Array.from({ length: count }, () => value);

function training(running: string, given: object, kills: readonly Kill[], files: readonly string[]): Row {
  return { running, script: support("train-process.ts"), given: [JSON.stringify(given)], kills, files };
}

const adaptive = { coefficient: 0.1, target: 0.02, horizon: 200 };
const inLoss = { where: "loss", ...adaptive };
const atWrites = ["early", "write", "early", "write"] as const;
const reference = "beginning/whole/model.safetensors";
const last = ["checkpoints/step-10/whole.optimizer", "checkpoints/step-10/adapter.json", "result.json"];

const trainings: readonly Row[] = [
  training(
    "a whole model and an adapter",
    { algorithm: { name: "at-grpo", samples: 3 } },
    ["saving 1", "saving 2", ...times(3, "moment" as const), "early", ...atWrites, "write"],
    last,
  ),
  training(
    "critics, and KL to references in the reward",
    {
      algorithm: {
        name: "ppo",
        samples: 2,
        kl: { where: "reward", ...adaptive },
        criticEpochs: 2,
        valueClip: 0.5,
      },
    },
    atWrites,
    [reference],
  ),
  training(
    "refilled steps",
    { algorithm: { name: "grpo", samples: 3, kl: inLoss, dynamicSampling: true, refills: 2 } },
    atWrites,
    [reference],
  ),
  training(
    "a moving baseline",
    { algorithm: { name: "reinforce", samples: 2, kl: { ...inLoss, estimator: "k3" }, baseline: "moving" } },
    atWrites,
    [reference],
  ),
  training("a batch sampled ahead", { algorithm: { name: "grpo", samples: 3 }, maxLag: 1 }, atWrites, [
    "checkpoints/step-8/next-batch.jsonl",
  ]),
];

const judges = [
  [{ name: "at-grpo" }, {}],
  [{ name: "reinforce", reward: "action" }, {}],
  [
    { name: "reinforce", reward: "action" },
    { when: "action", comments: true, outcomeWeight: 0.25, normalise: "role" },
  ],
] as const;

const asked = (folder: string): readonly string[] =>
  readFileSync(path.join(folder, "judge", "asked"), "utf8")
    .trim()
    .split(/\s+/);

/** Nothing is asked twice. */
function questions(whole: string, parts: string): void {
  const ids = asked(parts);
  expect(new Set(ids).size).toBe(ids.length);
  expect(ids.toSorted()).toEqual(asked(whole).toSorted());
}

const judged = judges.map(([algorithm, judge], index): Row => ({
  ...training(`verdicts (${index})`, { algorithm, judge }, ["step 1", "step 2"], ["verdicts.jsonl"]),
  alsoEqual: questions,
}));

/** No program of a tool runs twice. */
function ranOnce(_: string, parts: string): void {
  const keys = programsIn(readFileSync(path.join(parts, "run", "programs.jsonl"), "utf8"));
  expect(keys.length).toBeGreaterThan(1);
  expect(new Set(keys).size).toBe(keys.length);
}

const tools: Row = {
  running: "Python and search",
  script: support("tools-process.ts"),
  given: [model],
  kills: ["step 1", "step 2"],
  alsoEqual: ranOnce,
};

/** Writes down that it started. `moody`: it does something else each time, and prints what it is recognised by. */
const program = `
import { appendFileSync } from "node:fs";
import { randomUUID } from "node:crypto";
appendFileSync("starts", "start\\n");
const isMoody = process.argv[2] === "moody";
const { word } = JSON.parse(process.env.TROUPE_TASK);
const ask = async (role, content) => {
  const response = await fetch(process.env["OPENAI_BASE_URL_" + role] + "/chat/completions", {
    method: "POST",
    body: JSON.stringify({ messages: [{ role: "user", content }] }),
  });
  if (!response.ok) throw new Error(await response.text());
  return (await response.json()).choices[0].message.content.trim();
};
let said = word;
for (let turn = 0; turn < (isMoody ? 1 + Math.floor(3 * Math.random()) : 2); turn++) {
  said = await ask("WRITER", "say " + said);
  await ask("CRITIC", "is " + said);
}
if (isMoody) console.log("id " + randomUUID());
console.log(isMoody ? Math.random() : said === word ? 1 : 0);
`;

const recipe = `
name: driven
environment:
  name: command
  run: [${JSON.stringify(process.execPath)}, agents.mjs]
  dataset: { files: { train: tasks.jsonl, heldOut: tasks.jsonl } }
  processes: 2
  words: [say, is, hot, cold]
team: { roles: { writer: { policy: writer, maxTokens: 1 }, critic: { policy: critic, maxTokens: 1 } }, turns: 3 }
policies: { writer: { model: { preset: nano } }, critic: { model: { preset: nano } } }
algorithm: { name: mas-grpo, samples: 3 }
train: { steps: 5, tasksPerStep: 2, learningRate: 0.003 }
evaluation: { tasks: 2, every: 2 }
record: { training: { perStep: all } }
checkpoint: { every: 3 }
engine: { threads: 1 }
`;

/** In both evaluations, those after steps 2 and 4, and five steps. */
const trajectories = 4 * 2 + 5 * 2 * 3;
/** Two run at the same time, and two more may have ended and not be on disk. */
const lostByKill = 4;
const driven = (...more: readonly string[]) => ({
  script: path.join(import.meta.dirname, "..", "src", "cli", "main.ts"),
  given: ["train", "recipe.yaml", "--runs", ".", "--run", "run", ...more],
  kills: times(4, "programs" as const),
});

const startsIn = (folder: string): number =>
  readFileSync(path.join(folder, "starts"), "utf8").split("\n").length - 1;

/** What had ended does not run again. */
function starts(whole: string, parts: string): void {
  expect(startsIn(whole)).toBe(trajectories);
  expect(startsIn(parts)).toBeGreaterThan(trajectories);
  expect(startsIn(parts)).toBeLessThanOrEqual(trajectories + 4 * lostByKill);
}

const programs = [0, 1].map((lag): Row => ({
  ...driven(`train.maxLag=${lag}`),
  running: `programs that drive themselves, with a lag of ${lag}`,
  alsoEqual: starts,
}));

let folders = 0;
function newFolder(): string {
  const folder = path.join(root, `folder-${++folders}`);
  mkdirSync(path.join(folder, "judge"), { recursive: true });
  const files = { "agents.mjs": program, "recipe.yaml": recipe, starts: "" };
  for (const [name, contents] of Object.entries(files)) writeFileSync(path.join(folder, name), contents);
  writeFileSync(path.join(folder, "tasks.jsonl"), '{"word":"hot"}\n{"word":"cold"}\n');
  return folder;
}

interface Killing {
  readonly kill: Kill;
  /** An integer from 0 to below. */
  readonly draw: (below: number) => number;
  /** Disk writes of the undisturbed run. */
  readonly writes: number;
}

/** Starts the row's command in the folder. @returns whether it was killed, and what it printed */
async function start({ script, given }: Row, cwd: string, killing?: Killing) {
  const { kill = "", draw = () => 0, writes = 0 } = killing ?? {};
  const latest = { early: 60, write: Math.floor(writes / 2) }[kill as string];
  const own = latest === undefined ? kill : `write ${1 + draw(latest)}`;
  const args = script.endsWith("main.ts") ? given : [own, ...given];
  const child = spawn(process.execPath, [script, ...args], { cwd });
  const [ended, errors] = [once(child, "exit"), text(child.stderr)];
  let printed = "";
  child.stdout.on("data", (data: Buffer) => {
    printed += String(data);
    const saves = printed.split("saving").length - 1;
    if (kill.startsWith("saving") && saves >= Number(kill.slice(7))) child.kill("SIGKILL");
  });
  if (kill === "moment") {
    await Promise.race([once(child.stdout, "data"), ended]);
    await Promise.race([delay(draw(400)), ended]);
    child.kill("SIGKILL");
  }
  if (kill === "programs") {
    const enough = startsIn(cwd) + 1 + draw(12);
    while (child.exitCode === null && startsIn(cwd) < enough) await delay(2);
    child.kill("SIGKILL");
  }
  const [code, signal] = (await ended) as [number | null, string | null];
  if (signal === null && code !== 0) throw new Error(await errors);
  return { isKilled: signal === "SIGKILL", printed };
}

/** Kills the row's command again and again, then lets it end. @returns how many kills it got */
async function killedAndEnded(row: Row, folder: string, writes = 0, onKill?: () => Promise<void>) {
  const generator = generatorOf(keyAt(rootKey(17), "kills", row.running));
  const draw = (below: number): number => drawInt(generator, below);
  let kills = 0;
  for (const kill of row.kills) {
    if ((await start(row, folder, { kill, draw, writes })).isKilled) kills += 1;
    await onKill?.();
  }
  expect((await start(row, folder)).isKilled).toBe(false);
  return kills;
}

/** The keys of recorded programs: the order of their results, and how long they took, depend on timing. */
function programsIn(lines: string): readonly string[] {
  const keys = lines.trim().split("\n");
  return keys.map((line) => (line === "" ? "" : (JSON.parse(line) as { key: string }).key)).toSorted();
}

async function recordsIn(folder: string): Promise<Record<string, unknown>> {
  const { "programs.jsonl": recorded = "", ...records } = await recordsOf(path.join(folder, "run"));
  return { ...records, programs: programsIn(recorded) };
}

describe.each([...trainings, ...judged, tools, ...programs])("$running", { timeout: 600_000 }, (row) => {
  it(`killed at ${row.kills.join(", ")}: the same bytes`, async () => {
    const [whole, parts] = [newFolder(), newFolder()];
    const { printed } = await start(row, whole);
    const writes = Number(printed.trim().split("\n").at(-1));
    const kills = await killedAndEnded(row, parts, writes);
    expect(kills).toBeGreaterThan(row.kills.length / 2);
    const records = await recordsIn(whole);
    expect(Object.keys(records)).toEqual(expect.arrayContaining([...(row.files ?? [])]));
    expect(Object.keys(records)).not.toContain("trajectories.jsonl");
    expect(await recordsIn(parts)).toEqual(records);
    row.alsoEqual?.(whole, parts);
  });
});

type Lines = readonly string[];
const linesIn = async (folder: string, name: string, without?: string) =>
  (await readLines(path.join(folder, "run", name))).map(({ value }) =>
    JSON.stringify(value, (key, each: unknown) => (key === without ? undefined : each)),
  );

describe("what would do something else the second time", { timeout: 600_000 }, () => {
  it.each(judges)(
    "a judge: its verdicts, also failures, are reused, with %o, %o",
    async (algorithm, judge) => {
      const run = [process.execPath, echoJudgeProgram, "moody"];
      const folder = newFolder();
      // Killed in the fourth step, after the checkpoint of the second and the record of the third.
      const moody = training("moody", { algorithm, judge: { ...judge, run } }, ["step 4"], []);
      let [before, first, verdicts]: [Lines, Lines, Lines] = [[], [], []];
      await killedAndEnded(moody, folder, 0, async () => {
        // A recorded fault of a judge counts as a failure once the run was resumed.
        before = await linesIn(folder, "metrics.jsonl", "services");
        first = asked(folder);
        verdicts = (await linesIn(folder, "verdicts.jsonl")).filter((line) => line.includes('"score"'));
      });
      expect(before).toHaveLength(3);
      expect(before[2]).toContain('"unjudged":');
      const after = await linesIn(folder, "metrics.jsonl", "services");
      expect(after).toHaveLength(5);
      expect(after.slice(0, 3)).toEqual(before);
      const answered = verdicts.map((line) => (JSON.parse(line) as { key: string }).key);
      expect(answered).not.toEqual([]);
      const again = asked(folder).slice(first.length);
      expect(again.filter((id) => answered.includes(id))).toEqual([]);
    },
  );

  it.each([0, 1])("a program: what ended is trained, with a lag of %i", async (lag) => {
    const run = `environment.run=[${JSON.stringify(process.execPath)}, agents.mjs, moody]`;
    const row = { ...driven(`train.maxLag=${lag}`, run), running: `moody ${lag}` };
    const folder = newFolder();
    const [kept, steps] = [new Set<string>(), new Set<string>()];
    await killedAndEnded(row, folder, 0, async () => {
      for (const id of await endedIn(folder)) kept.add(id);
      for (const line of await linesIn(folder, "metrics.jsonl")) steps.add(line);
    });
    expect(startsIn(folder)).toBeLessThanOrEqual(trajectories + 4 * lostByKill);
    const trained: string[] = [];
    for await (const { episode } of readEpisodes(path.join(folder, "run"))) trained.push(...idsIn(episode));
    expect(trained).toHaveLength(trajectories);
    expect(kept.size).toBeGreaterThan(10);
    expect([...kept].filter((id) => !trained.includes(id))).toEqual([]);
    expect(await linesIn(folder, "metrics.jsonl")).toEqual(expect.arrayContaining([...steps]));
  });
});

/** What the programs printed whose trajectories are on disk, and in no checkpoint. */
async function endedIn(folder: string): Promise<readonly string[]> {
  const file = path.join(folder, "run", "trajectories.jsonl");
  const lines = await readLines(file);
  const episodes = await Promise.all(lines.map(({ value }) => unpacked(String(value["contents"]), file)));
  return episodes.flatMap(idsIn);
}

/** A state is stored as it is and rendered. */
const idsIn = (episode: object): readonly string[] => [
  ...new Set(JSON.stringify(episode).match(/id [0-9a-f-]{36}/g)),
];

/** The weights that a training ends with whose worker on PyTorch is killed after some of its checkpoints. */
async function onTorch(killedAfter: readonly number[]) {
  const { engine, processes } = openOwn({ deterministic: true });
  const directory = path.join(newFolder(), "run");
  const onEvent = (event: TrainEvent): void => {
    if (event.type !== "checkpoint" || !killedAfter.includes(event.step)) return;
    process.kill(processes.at(-1)?.pid ?? 0, "SIGKILL");
  };
  await train({ ...tinyRecipe({ checkpoint: { every: 2, keep: 1 } }), directory, engine, onEvent });
  await engine.close();
  const weights = readFileSync(path.join(directory, "checkpoints", "step-7", "shared", "model.safetensors"));
  return { weights: createHash("sha256").update(weights).digest("hex"), processes: processes.length };
}

it.skipIf(python === undefined)(
  "a worker on PyTorch, killed after checkpoints, whose folders get another name: the same weights",
  // Four workers import PyTorch one after the other.
  { timeout: 600_000 },
  async () => {
    const whole = await onTorch([]);
    expect(await onTorch([2, 5])).toEqual({ ...whole, processes: 3 });
  },
);
