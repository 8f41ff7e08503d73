import { describe, expect, it } from "vitest";
import { drawInt, generatorOf, keyAt, rootKey } from "../random.ts";
import type { Team } from "../teams/team.ts";
import { continueDecision, recordedTip } from "./continue.ts";
import type { Episode } from "./episode.ts";
import { decodeEpisode, encodeEpisode } from "./codec.ts";
import { growEpisode } from "./grow.ts";
import { nodeOf } from "./navigate.ts";
import { numbersPolicy, pair, roleFor, settingFor } from "./testing/numbers.ts";
import { scriptedEngine, type Script } from "./testing/scripted-engine.ts";

const policy = numbersPolicy();
const root = rootKey(7);
const start = { task: {}, path: ["train", 0, 0] };
/** Drawn from the request's seed, like a real engine's; never 9, which would end the episode. */
const drawn: Script = ({ seed }, index) => String(drawInt(generatorOf(rootKey(seed + index)), 9));
const teams: Readonly<Record<string, Team>> = {
  "one after the other": pair,
  "at the same time": { ...pair, phases: [["first", "second"]] },
  "with a conversation": {
    ...pair,
    roles: [roleFor("first", { memory: "conversation" }), roleFor("second", { memory: "conversation" })],
  },
};

/** As stored and read again. */
async function stored(episode: Episode): Promise<Episode> {
  const { json, prompts } = encodeEpisode(episode);
  return decodeEpisode(JSON.parse(JSON.stringify(json)), (hash) => prompts.get(hash), "test");
}

describe.each(Object.entries(teams))("a team that acts %s", (_, team) => {
  const setting = settingFor(policy, { engine: scriptedEngine(policy.tokenizer, drawn), team });

  it("continues with the episode's own key and actions as it went, from each of its states", async () => {
    const episode = await stored(await growEpisode(setting, root, start));
    const key = keyAt(root, ...start.path);
    for (const action of episode.actions) {
      const tip = await recordedTip(setting, episode, nodeOf(episode, action.parent));
      expect(await continueDecision(setting, key, tip, action)).toEqual(episode.ends[0]?.outcome);
    }
  });

  it("gives the others the same random numbers whichever action is given", async () => {
    const scheme = { branch: { root: 4, inner: 4 }, keep: "first" } as const;
    const episode = await stored(await growEpisode({ ...setting, scheme }, root, start));
    const engine = scriptedEngine(policy.tokenizer, drawn);
    const tip = await recordedTip(setting, episode, nodeOf(episode, ""));
    const seeds = [];
    for (const action of episode.actions.filter(({ parent, role }) => parent === "" && role === "first")) {
      const before = engine.requests.length;
      await continueDecision({ ...setting, engine }, keyAt(root, "again", 3), tip, action);
      seeds.push(engine.requests.slice(before).map((request) => request.seed));
    }
    expect(seeds).toHaveLength(4);
    expect(new Set(seeds.map((own) => own.join(" "))).size).toBe(1);
  });
});

it("rejects a recorded episode whose roles are now shown something else", async () => {
  const setting = settingFor(policy, { engine: scriptedEngine(policy.tokenizer, drawn) });
  const episode = await growEpisode(setting, root, start);
  const changed = {
    ...setting,
    team: { ...pair, roles: [roleFor("first", { prompt: "say" }), roleFor("second")] },
  };
  const [action] = episode.actions;
  const tip = await recordedTip(changed, episode, nodeOf(episode, ""));
  await expect(action && continueDecision(changed, root, tip, action)).rejects.toThrow(
    "train/0/0, node root: first is now shown another prompt than the recorded one",
  );
});
