import { describe, expect, it } from "vitest";
import { ServiceError, TroupeError } from "../errors.ts";
import type { Environment } from "../environments/environment.ts";
import { decodeEpisode, encodeEpisode } from "../rollout/codec.ts";
import type { Episode, Verdict } from "../rollout/episode.ts";
import { pathTo, nodeOf, type Occurrence } from "../rollout/navigate.ts";
import { numbers, pair } from "../rollout/testing/numbers.ts";
import type { Judge, JudgeUse } from "./judge.ts";
import { judgeEpisode, withoutVerdicts } from "./judge-episode.ts";
import { judgeBy, silent, talk } from "./testing/talk.ts";

/** Notes node and action of each question, call by call. */
function listening(verdict: (asked: Occurrence) => Verdict): Judge & { readonly calls: string[][] } {
  const calls: string[][] = [];
  const plain = judgeBy(verdict);
  return {
    ...plain,
    calls,
    judge: (episode, asked) => {
      calls.push(asked.map(({ node, action }) => `${node.id} ${action.role}`));
      return plain.judge(episode, asked);
    },
  };
}

const tenths = () => listening(({ action }) => ({ score: Number(action.reply.text) / 10 }));
/** Judges actions highly that the environment rewards little. */
const contrary = () => listening(({ action }) => ({ score: 1 - Number(action.reply.text) / 10 }));
const judging = (judge: Judge["judge"]): Judge => ({ ...tenths(), judge });
const asking = (judge: Judge, use: JudgeUse) => (episode: Episode) => judgeEpisode(episode, judge, use);
const missing: JudgeUse = { fills: "missing", as: "team" };
const edgesOf = ({ nodes }: Episode) => nodes.flatMap((node) => node.actions);

describe("a verdict", () => {
  it("becomes the requested part of the reward; the other part is 0", async () => {
    const episode = await talk();
    const team = await judgeEpisode(episode, tenths(), missing);
    const local = await judgeEpisode(episode, tenths(), { ...missing, as: "local" });
    expect(nodeOf(team, "2").actions[0]?.reward).toEqual({ team: 0.2, local: 0, parts: {} });
    expect(nodeOf(local, "2").actions[0]?.reward).toEqual({ team: 0, local: 0.2, parts: { judge: 0.2 } });
  });

  it("is asked for if the environment gave no reward, or always, and only once", async () => {
    const episode = await talk({ environment: silent(["first"]) });
    const some = tenths();
    const filled = await judgeEpisode(episode, some, missing);
    const second = ["0.0", "0.0.0.0", "1.0", "1.0.0.0", "2.0", "2.0.0.0"].map((id) => `${id} second`);
    expect(some.calls).toEqual([second]);
    const all = tenths();
    const replaced = await judgeEpisode(episode, all, { ...missing, fills: "all" });
    expect(all.calls[0]).toHaveLength(12);
    const given = { team: 0.2, local: 1, parts: { even: 1 } };
    expect(nodeOf(filled, "2").actions).toEqual(nodeOf(episode, "2").actions);
    const both = { reward: { team: 0.2, local: 0 }, environmentReward: given };
    expect(nodeOf(replaced, "2").actions[0]).toMatchObject(both);
    expect(await judgeEpisode(replaced, all, { ...missing, fills: "all" })).toEqual(replaced);
    expect(all.calls).toHaveLength(1);
    expect(withoutVerdicts(replaced)).toEqual(episode);
    expect(withoutVerdicts(filled)).toEqual(episode);
  });

  it.each([
    ["fails", judgeBy(() => ({ failure: "no idea" })), "no idea"],
    ["is above 1", judgeBy(() => ({ score: 1.5 })), "the score 1.5 is not between 0 and 1"],
    ["is not a number", judgeBy(() => ({ score: Number.NaN })), "the score NaN is not between 0 and 1"],
    ["is missing", judging(async () => []), "the judge gave no verdict"],
    [
      "is for something else",
      judging(async () => [{ node: "0", action: "x", verdict: { score: 1 } }]),
      "the judge gave no verdict",
    ],
    ["is not available", judging(() => Promise.reject(new ServiceError("nobody there"))), "nobody there"],
  ])("that %s leaves the action without a reward", async (_, judge, failure) => {
    const episode = await talk({ environment: silent(["first"]) });
    const judged = await judgeEpisode(episode, judge, { ...missing, fills: "all" });
    for (const { reward, verdict } of edgesOf(judged)) {
      expect(reward).toBeNull();
      expect(verdict).toEqual({ failure });
    }
    expect(withoutVerdicts(judged)).toEqual(episode);
  });

  it("that is cancelled is not a failure", async () => {
    const judge = judging(() => Promise.reject(new TroupeError("cancelled", "stop")));
    await expect(judgeEpisode(await talk(), judge, missing)).rejects.toMatchObject({ code: "cancelled" });
  });
});

it("what an action's program printed stays with the action, judged or not", async () => {
  const evidence = { output: "42", files: [{ path: "a.csv", size: 3, digest: "d", note: "1 row" }] };
  const environment: Environment = {
    ...numbers,
    step: async (state, replies, context) => ({
      ...(await numbers.step(state, replies, context)),
      evidence: { first: evidence },
    }),
  };
  const episode = await talk({ environment });
  for (const edge of edgesOf(episode))
    expect(edge.evidence).toEqual(edge.action.includes("first") ? evidence : undefined);
  const { json, prompts } = encodeEpisode(episode);
  expect(decodeEpisode(JSON.parse(JSON.stringify(json)), (hash) => prompts.get(hash), "here")).toEqual(
    episode,
  );
  const judge = judgeBy(() => ({ score: 1, blame: "second" }));
  const judged = await judgeEpisode(episode, judge, { ...missing, fills: "all" });
  expect(edgesOf(judged).map((edge) => edge.evidence)).toEqual(edgesOf(episode).map((edge) => edge.evidence));
  expect(withoutVerdicts(judged)).toEqual(episode);
});

describe("the sampler", () => {
  const sampled = [
    ["3", "1", "2"],
    ["1", "2", "3"],
  ] as const;
  const byRole = ({ policy }: { policy: string }, index: number): string =>
    sampled[policy === "first" ? 0 : 1][index] ?? "";
  const spine = { branch: { root: 3, inner: 3 }, keep: "best" } as const;

  it("asks before it hands over the best", async () => {
    const judge = contrary();
    const episode = await talk({ scheme: spine, script: byRole, judge: asking(judge, missing) });
    const kept = pathTo(episode, nodeOf(episode, episode.ends[0]?.node ?? ""));
    expect(kept.map(({ id }) => id)).toEqual(["1", "1.0", "1.0.1", "1.0.1.0"]);
    expect(judge.calls).toEqual([
      ["0 first", "1 first", "2 first"],
      ["1.0 second", "1.1 second", "1.2 second"],
      ["1.0.0 first", "1.0.1 first", "1.0.2 first"],
      ["1.0.1.0 second", "1.0.1.1 second", "1.0.1.2 second"],
    ]);
    expect(edgesOf(episode).every(({ reward }) => reward !== null)).toBe(true);
  });

  it("shows the judge only the path to the actions in question", async () => {
    const seen: string[][] = [];
    const judge = judging(async (episode, asked) => {
      seen.push(episode.nodes.map(({ id }) => id));
      return contrary().judge(episode, asked);
    });
    const scheme = { ...spine, keep: "all", stopAbove: 2 } as const;
    await talk({ scheme, team: { ...pair, turns: 1 }, judge: asking(judge, missing) });
    const after = ["0", "1", "2"].map((id) => ["", id, `${id}.0`, `${id}.1`, `${id}.2`]);
    expect(seen).toEqual([["", "0", "1", "2"], ...after]);
  });

  it("asks before it decides whether a turn earned enough to be the last", async () => {
    const scheme = { branch: { root: 2, inner: 2 }, keep: "all", stopAbove: 0.9 } as const;
    const team = { ...pair, phases: [["first"]] };
    const ends = async (text: string) => {
      const judge = asking(contrary(), { fills: "all", as: "team" });
      return (await talk({ environment: numbers, scheme, team, judge, script: () => text })).ends;
    };
    expect(await ends("0")).toHaveLength(2);
    expect(await ends("1")).toHaveLength(4);
  });

  it("asks at the end of an episode if it does not choose by rewards", async () => {
    const judge = contrary();
    const scheme = { ...spine, keep: "first" } as const;
    const episode = await talk({ scheme, script: byRole, judge: asking(judge, missing) });
    expect(judge.calls).toHaveLength(1);
    expect(judge.calls[0]).toHaveLength(12);
    expect(edgesOf(episode).every(({ reward }) => reward !== null)).toBe(true);
  });

  it("asks at once if told to, and shows no end", async () => {
    const judge = contrary();
    const ends: number[] = [];
    const scheme = { ...spine, keep: "all", branch: { root: 2, inner: 1 } } as const;
    const episode = await talk({
      scheme,
      script: byRole,
      judgeMoment: "action",
      judge: (given) => {
        ends.push(given.ends.length);
        return judgeEpisode(given, judge, missing);
      },
    });
    expect(judge.calls.map((asked) => asked.length)).toEqual([2, 1, 1, 1, 1, 1, 1]);
    // Once more at the end, when nothing is left to ask.
    expect(ends).toEqual([...Array<number>(7).fill(0), 2]);
    expect(edgesOf(episode).every(({ reward }) => reward !== null)).toBe(true);
  });

  it("continues from the best judged action", async () => {
    const judge = judgeBy(({ action }) =>
      action.reply.text === "1" ? { failure: "no idea" } : { score: 1 - Number(action.reply.text) / 10 },
    );
    const episode = await talk({ scheme: spine, script: byRole, judge: asking(judge, missing) });
    expect(episode.ends.map(({ node }) => node)).toEqual(["2.1.2.1"]);
    expect(edgesOf(episode).filter(({ reward }) => reward === null)).toHaveLength(4);
  });

  it("asks about a completion in each joint action that contains it", async () => {
    const scheme = { branch: { root: 2, inner: 1 }, keep: "all", joint: "cross" } as const;
    const team = { ...pair, phases: [["first", "second"]], turns: 1 };
    const judge = contrary();
    const episode = await talk({ scheme, team, judge: asking(judge, missing) });
    expect(episode.actions).toHaveLength(4);
    expect(judge.calls[0]).toEqual(
      ["0", "1", "2", "3"].flatMap((node) => [`${node} first`, `${node} second`]),
    );
  });
});
