import fs from "node:fs/promises";
import { gunzipSync } from "node:zlib";
import { beforeEach, expect, it } from "vitest";
import { temporaryFolder } from "../models/test-model.ts";
import { rootKey } from "../random.ts";
import { EpisodeLog } from "../runs/episode-log.ts";
import { layoutOf, type RunLayout } from "../runs/layout.ts";
import { sum } from "../statistics.ts";
import type { Episode } from "./episode.ts";
import { growEpisode } from "./grow.ts";
import { newEpisode, readEpisodes, type EpisodeSelection, type StoredEpisode } from "./stored.ts";
import { collected } from "./testing/collected.ts";
import { numbersPolicy, pair, roleFor, settingFor } from "./testing/numbers.ts";
import { scriptedEngine } from "./testing/scripted-engine.ts";

let layout: RunLayout;
beforeEach(() => {
  layout = layoutOf(temporaryFolder());
});

const { tokenizer } = numbersPolicy();
const policy = { tokenizer, maxLength: 4096 };
const decode = (_: string, tokens: Int32Array) => tokenizer.decode(tokens);

/** One trajectory of this many turns; the first role keeps its conversation. */
function talk(turns: number, id = "train/0/0"): Promise<Episode> {
  const roles = [roleFor("first", { memory: "conversation" }), roleFor("second")];
  const engine = scriptedEngine(tokenizer, () => "2");
  const start = { id, task: {}, path: ["train", 0, 0] };
  return growEpisode(settingFor(policy, { engine, team: { ...pair, roles, turns } }), rootKey(1), start);
}

async function keep(...episodes: readonly ReturnType<typeof newEpisode>[]): Promise<void> {
  const log = await EpisodeLog.open(layout, () => true);
  for (const episode of episodes) await log.append(episode);
}

const read = (selection: EpisodeSelection = {}): Promise<StoredEpisode[]> =>
  collected(readEpisodes(layout.directory, selection));

const ids = async (selection: EpisodeSelection) => (await read(selection)).map(({ episode }) => episode.id);

it("a conversation is stored once, however many turns it has", async () => {
  const turns = 12;
  const [short, long] = [await talk(3, "train/0/1"), await talk(turns)];
  await keep(newEpisode(short, { step: 1 }, decode), newEpisode(long, { step: 1 }, decode));
  expect((await read()).map(({ episode }) => episode)).toEqual([short, long]);
  const lines = gunzipSync(await fs.readFile(layout.promptData))
    .toString()
    .trim()
    .split("\n");
  const tokens = lines.map((line) => (JSON.parse(line) as { tokens: number[]; base?: object }).tokens.length);
  const own = long.actions.filter(({ role }) => role === "first").map(({ prompt }) => prompt.length);
  const fresh = long.actions.filter(({ role }) => role === "second").map(({ prompt }) => prompt.length);
  // The size of a conversation is that of its last prompt; the other role's prompts are new each turn.
  expect(sum(tokens)).toBe((own.at(-1) ?? 0) + sum(fresh));
  expect(sum(own)).toBeGreaterThan(5 * (own.at(-1) ?? 0));
});

it("a prompt whose tokens are not those of its hash is damage", async () => {
  const { prompts, ...one } = newEpisode(await talk(1), { step: 1 }, decode);
  const others = [...prompts].map(([hash]) => [hash, { rest: () => ({ tokens: [1], text: "" }) }] as const);
  await keep({ ...one, prompts: new Map(others) });
  await expect(read()).rejects.toMatchObject({
    code: "bad_run",
    message: expect.stringMatching(/names the prompt \w+, which has other tokens/) as string,
  });
});

it("a prompt can be read as text, turn by turn", async () => {
  await keep(newEpisode(await talk(2), { step: 1 }, decode));
  const [stored] = await read();
  const last = stored?.episode.actions.findLast(({ role }) => role === "first");
  const text = last === undefined ? "" : stored?.promptText(last);
  expect(text).toBe("you are first say first\n2 say first 2 2");
});

it("episodes are selected by origin", async () => {
  const after = { moment: "after", team: "team" } as const;
  const during = { moment: "during", team: "single" } as const;
  await keep(
    newEpisode(await talk(1, "train/1/0"), { step: 1 }, decode, []),
    newEpisode(await talk(1, "evaluation/1/single/0"), { step: 1, evaluation: during }, decode),
    newEpisode(await talk(1, "evaluation/2/team/0"), { step: 2, evaluation: after }, decode),
  );
  expect(await ids({})).toHaveLength(3);
  expect(await ids({ step: 1 })).toEqual(["train/1/0", "evaluation/1/single/0"]);
  expect(await ids({ from: "training" })).toEqual(["train/1/0"]);
  expect(await ids({ from: "evaluations" })).toEqual(["evaluation/1/single/0", "evaluation/2/team/0"]);
  expect(await ids({ moment: "after" })).toEqual(["evaluation/2/team/0"]);
  expect(await ids({ team: "single", step: 1 })).toEqual(["evaluation/1/single/0"]);
  expect(await ids({ id: "train/1/0" })).toEqual(["train/1/0"]);
  expect((await read({ from: "training" })).map(({ credit }) => credit)).toEqual([[]]);
});

it("a continuation is one, also in the first runs of c3, which call it a replay", async () => {
  const episode = await talk(1);
  const credit = episode.actions.map(({ id: action }, index) => {
    const leftOut = index === 0 ? "continuation" : "down-sampled";
    return { action, group: "a", return: 1, advantage: 0, leftOut } as const;
  });
  const old = credit.map((one) => (one.leftOut === "continuation" ? { ...one, leftOut: "replay" } : one));
  await keep(newEpisode(episode, { step: 1 }, decode, old as unknown as typeof credit));
  expect((await read()).map((one) => one.credit)).toEqual([credit]);
});
