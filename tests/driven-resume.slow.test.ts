/**
 * `kill -9` while programs that drive themselves are running, then the same command again: those that had ended do not
 * run again, whatever they would do now, and programs that do the same lead to the same bytes as an undisturbed run.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, it } from "vitest";
import { troupe } from "../src/cli/testing/command.ts";
import { drawInt, generatorOf, keyAt, rootKey } from "../src/random.ts";
import { unpacked } from "../src/rollout/ended.ts";
import { readEpisodes } from "../src/rollout/stored.ts";
import { readLines } from "../src/runs/json-lines.ts";
import { recordsOf } from "../src/train/testing/records-of.ts";

const main = fileURLToPath(new URL("../src/cli/main.ts", import.meta.url));
const root = mkdtempSync(path.join(tmpdir(), "troupe-driven-resume-"));
writeFileSync(path.join(root, "tasks.jsonl"), '{"word":"hot"}\n{"word":"cold"}\n');
afterAll(() => rmSync(root, { recursive: true }));

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

const recipe = (mood: string, maxLag: number) => `
name: driven
environment:
  name: command
  run: [${JSON.stringify(process.execPath)}, agents.mjs, ${mood}]
  dataset: { files: { train: ../tasks.jsonl, heldOut: ../tasks.jsonl } }
  processes: 2
  words: [say, is, hot, cold]
team: { roles: { writer: { policy: writer, maxTokens: 1 }, critic: { policy: critic, maxTokens: 1 } }, turns: 3 }
policies: { writer: { model: { preset: nano } }, critic: { model: { preset: nano } } }
algorithm: { name: mas-grpo, samples: 3 }
train: { steps: 5, tasksPerStep: 2, learningRate: 0.003, maxLag: ${maxLag} }
evaluation: { tasks: 2, every: 2 }
record: { training: { perStep: all } }
checkpoint: { every: 3 }
engine: { threads: 1 }
`;

/** In both evaluations, those after steps 2 and 4, and five steps. */
const trajectories = 4 * 2 + 5 * 2 * 3;
const kills = 4;
/** Two run at the same time, and two more may have ended and not be on disk. */
const lostByKill = 4;

interface Place {
  readonly cwd: string;
  readonly run: string;
}

function place(name: string, mood: string, maxLag: number): Place {
  const cwd = path.join(root, name);
  mkdirSync(cwd);
  writeFileSync(path.join(cwd, "agents.mjs"), program);
  writeFileSync(path.join(cwd, "recipe.yaml"), recipe(mood, maxLag));
  writeFileSync(path.join(cwd, "starts"), "");
  return { cwd, run: path.join(cwd, "runs", "driven") };
}

const startsIn = ({ cwd }: Place): number =>
  readFileSync(path.join(cwd, "starts"), "utf8").split("\n").length - 1;

const args = ["train", "recipe.yaml", "--run", "driven"];

/** Kills the command when so many programs more have started. @returns whether it was running */
async function killedAfter(here: Place, more: number): Promise<boolean> {
  const at = startsIn(here) + more;
  const child = spawn(process.execPath, [main, ...args], { cwd: here.cwd, stdio: "ignore" });
  const ended = once(child, "exit") as Promise<[number | null, NodeJS.Signals | null]>;
  while (child.exitCode === null && startsIn(here) < at) await delay(2);
  child.kill("SIGKILL");
  const [, signal] = await ended;
  return signal === "SIGKILL";
}

async function finish({ cwd }: Place): Promise<void> {
  expect(await troupe(args, { cwd })).toMatchObject({ code: 0 });
}

describe.each([0, 1])("killed at random moments, with a lag of %i", { timeout: 1_800_000 }, (maxLag) => {
  it("plays only what had not ended, and ends with the same bytes", async () => {
    const whole = place(`whole-${maxLag}`, "steady", maxLag);
    await finish(whole);
    expect(startsIn(whole)).toBe(trajectories);
    const parts = place(`parts-${maxLag}`, "steady", maxLag);
    const generator = generatorOf(keyAt(rootKey(23), "kills", maxLag));
    let killed = 0;
    for (let kill = 0; kill < kills; kill++)
      if (await killedAfter(parts, 1 + drawInt(generator, 12))) killed += 1;
    expect(killed).toBe(kills);
    await finish(parts);
    expect(startsIn(parts)).toBeGreaterThan(trajectories);
    expect(startsIn(parts)).toBeLessThanOrEqual(trajectories + kills * lostByKill);
    const records = await recordsOf(parts.run);
    expect(records).toEqual(await recordsOf(whole.run));
    expect(Object.keys(records)).not.toContain("trajectories.jsonl");
  });

  it("trains what ended, even if its program would do something else now", async () => {
    const here = place(`moody-${maxLag}`, "moody", maxLag);
    const generator = generatorOf(keyAt(rootKey(29), "kills", maxLag));
    const [kept, steps] = [new Set<string>(), new Set<string>()];
    for (let kill = 0; kill < kills; kill++) {
      await killedAfter(here, 1 + drawInt(generator, 12));
      for (const id of await endedIn(here)) kept.add(id);
      for (const line of await metricsIn(here)) steps.add(line);
    }
    await finish(here);
    expect(startsIn(here)).toBeLessThanOrEqual(trajectories + kills * lostByKill);
    const trained: string[] = [];
    for await (const { episode } of readEpisodes(here.run)) trained.push(...idsIn(episode));
    expect(trained).toHaveLength(trajectories);
    expect(kept.size).toBeGreaterThan(10);
    expect([...kept].filter((id) => !trained.includes(id))).toEqual([]);
    expect(await metricsIn(here)).toEqual(expect.arrayContaining([...steps]));
  });
});

/** What the programs printed whose trajectories are on disk, and in no checkpoint. */
async function endedIn({ run }: Place): Promise<readonly string[]> {
  const file = path.join(run, "trajectories.jsonl");
  const lines = await readLines(file);
  const episodes = await Promise.all(lines.map(({ value }) => unpacked(String(value["contents"]), file)));
  return episodes.flatMap(idsIn);
}

/** A state is stored as it is and rendered. */
const idsIn = (episode: object): readonly string[] => [
  ...new Set(JSON.stringify(episode).match(/id [0-9a-f-]{36}/g)),
];

async function metricsIn({ run }: Place): Promise<readonly string[]> {
  return (await readLines(path.join(run, "metrics.jsonl"))).map(({ value }) => JSON.stringify(value));
}
