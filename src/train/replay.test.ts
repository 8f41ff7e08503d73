import { describe, expect, it } from "vitest";
import type { Environment } from "../environments/environment.ts";
import { drawFloat, generatorOf, rootKey } from "../random.ts";
import { decodeEpisode, encodeEpisode } from "../rollout/codec.ts";
import type { Episode } from "../rollout/episode.ts";
import { growEpisode } from "../rollout/grow.ts";
import { numbers, numbersPolicy, pair, settingFor } from "../rollout/testing/numbers.ts";
import { scriptedEngine, type Script } from "../rollout/testing/scripted-engine.ts";
import { replayEpisode, type Difference, type ReplaySetting, rescore } from "./replay.ts";
import { algorithmFrom } from "../credit/algorithms.ts";
import { credit } from "../credit/credit.ts";
import { action, alternatives, decision, trajectories } from "../credit/testing.ts";
import { judgeBy } from "../judges/testing/talk.ts";

const policy = numbersPolicy();
const team = { ...pair, phases: [["first", "second"]] };
const counting: Script = (_, index, prompt) => `${index + (prompt.includes("first") ? 1 : 3)}`;

/** The numbers game with random rewards: a step draws them from its key. */
const lucky: Environment = {
  ...numbers,
  step: async (state, replies, context) => {
    const result = await numbers.step(state, replies, context);
    const luck = drawFloat(generatorOf(context.key));
    const rewards = Object.entries(result.rewards).map(([seat, reward]) => {
      return [seat, reward === null ? null : { ...reward, parts: { luck } }] as const;
    });
    return { ...result, rewards: Object.fromEntries(rewards) };
  },
};

async function played(environment = numbers): Promise<Episode> {
  const scheme = { branch: { root: 3, inner: 2 }, keep: "all" } as const;
  const engine = scriptedEngine(policy.tokenizer, counting);
  const start = { task: {}, path: ["train", 3, 1], split: "train" };
  const setting = settingFor(policy, { environment, engine, team, scheme });
  const episode = await growEpisode(setting, rootKey(5), start);
  const nodes = episode.nodes.map((node) => ({ ...node, rendered: environment.render(node.state) }));
  const { json, prompts } = encodeEpisode({ ...episode, nodes });
  return decodeEpisode(JSON.parse(JSON.stringify(json)), (hash) => prompts.get(hash), "here");
}

const tokenizers = { first: policy.tokenizer, second: policy.tokenizer };

async function replayed(
  environment: Environment,
  changes: Partial<ReplaySetting> = {},
): Promise<Difference[]> {
  const setting = { environment, team, root: rootKey(5), tokenizers, ...changes };
  return replayEpisode(setting, await played(environment === lucky ? lucky : numbers));
}

const unpaid: Step = async (...given) => {
  const result = await numbers.step(...given);
  return { ...result, rewards: { ...result.rewards, second: null } };
};

const ending: Step = async (...given) => ({ ...(await numbers.step(...given)), done: true });

type Step = Environment["step"];

describe("a replay", () => {
  it("finds no difference if nothing has changed, random rewards included", async () => {
    expect(await replayed(numbers)).toEqual([]);
    expect(await replayed(lucky)).toEqual([]);
  });

  it("finds other random rewards under another key", async () => {
    const found = await replayed(lucky, { root: rootKey(6) });
    expect(new Set(found.map(({ what }) => what))).toEqual(new Set(["reward"]));
  });

  const changed: readonly (readonly [string, Partial<Environment>, Partial<Difference>])[] = [
    ["a start", { start: () => ({ said: [], turns: 7 }) }, { node: "", what: "state" }],
    ["a rendering", { render: () => "nothing" }, { node: "", what: "rendering", now: "nothing" }],
    ["what a seat sees", { observe: () => "say nothing" }, { node: "", what: "observation", seat: "first" }],
    ["an outcome", { outcome: () => ({ success: true, score: 1 }) }, { node: "0.0", what: "outcome" }],
    ["what an action earns", { step: unpaid }, { node: "0", what: "reward", seat: "second", now: null }],
    ["the rules", { step: ending }, { node: "0", what: "done", recorded: false, now: true }],
    ["the end of a turn", { endTurn: (state) => state }, { node: "0", what: "state" }],
    ["who acts", { next: () => ["first"] }, { node: "", what: "seats", now: ["first"] }],
  ];

  it.each(changed)("finds that %s has changed", async (_, changes, expected) => {
    expect(await replayed({ ...numbers, ...changes })).toContainEqual(expect.objectContaining(expected));
  });

  it("parses replies from the tokens again if there is a tokenizer", async () => {
    const other = { parseReply: () => ({ text: "9", truncated: false }) };
    const found = await replayed(numbers, { tokenizers: { first: other, second: policy.tokenizer } });
    expect(found[0]).toMatchObject({ node: "0", what: "reply", seat: "first", now: { text: "9" } });
    expect(found.map(({ what }) => what)).toContain("done");
    expect(await replayed(numbers, { tokenizers: {} })).toEqual([]);
  });

  it("compares with the environment's reward if a judge replaced it", async () => {
    const episode = await played();
    const nodes = episode.nodes.map((node) => ({
      ...node,
      actions: node.actions.map(({ action: id, reward }) => ({
        action: id,
        reward: { team: 0.5, local: 0, parts: {} },
        verdict: { score: 0.5 },
        ...(reward === null ? {} : { environmentReward: reward }),
      })),
    }));
    const setting = { environment: numbers, team, root: rootKey(5) };
    expect(await replayEpisode(setting, { ...episode, nodes })).toEqual([]);
  });
});

const earned = [action({ team: 0.25 }), action({ team: 1 }), action({ team: 0 })];
const compared = decision(0, earned);

/** Which sample was continued. */
function cut(episode: Episode): Episode {
  return {
    ...episode,
    nodes: episode.nodes.map((node) => ({ ...node, kept: node.id === "" || node.id === "0" })),
  };
}

/** Scores the first sample of a role 1, the second 0, and fails on the third. */
const judge = judgeBy(({ action: { sample } }) =>
  sample === 2 ? { failure: "no idea" } : { score: 1 - sample },
);

const returns = (credited: Awaited<ReturnType<typeof rescore>>) => credited.map((one) => one.return);

describe("rescore", () => {
  it("credits as training does, also with another algorithm", async () => {
    for (const name of ["at-grpo", "marloo"]) {
      const algorithm = algorithmFrom(name);
      expect(await rescore([compared], { algorithm })).toEqual(credit([compared], algorithm));
    }
  });

  it("takes rewards from a judge; a failed verdict leaves none", async () => {
    const algorithm = algorithmFrom("at-grpo");
    const all = { judge, use: { fills: "all", as: "team" } } as const;
    expect(returns(await rescore([compared], { algorithm, judge: all }))).toEqual([1, 0, null]);
    const missing = { judge, use: { fills: "missing", as: "team" } } as const;
    const some = decision(0, [...earned.slice(0, 1), action({ reward: null }), action({ team: 0.5 })]);
    expect(returns(await rescore([some], { algorithm, judge: missing }))).toEqual([0.25, 0, 0.5]);
  });

  it("uses all scores of the step to normalise them", async () => {
    const algorithm = algorithmFrom("at-grpo");
    const use = { fills: "all", as: "team", normalise: "role" } as const;
    const seen: (readonly Episode[])[] = [];
    const normalised = async (episodes: readonly Episode[]) => {
      seen.push(episodes);
      return episodes.map(() => compared);
    };
    const found = await rescore([compared, compared], { algorithm, judge: { judge, use, normalised } });
    expect(found).toEqual(credit([compared, compared], algorithm));
    expect(seen).toHaveLength(1);
    expect(seen[0]?.map(({ nodes }) => nodes[1]?.actions[0]?.verdict)).toEqual([{ score: 1 }, { score: 1 }]);
  });

  it("asks the judge again if a verdict was recorded", async () => {
    const algorithm = algorithmFrom("at-grpo");
    const nodes = compared.nodes.map((node) => ({
      ...node,
      actions: node.actions.map(({ action: id }) => ({
        action: id,
        reward: null,
        verdict: { failure: "then" },
      })),
    }));
    const missing = { judge, use: { fills: "missing", as: "team" } } as const;
    expect(returns(await rescore([{ ...compared, nodes }], { algorithm }))).toEqual([null, null, null]);
    const again = await rescore([{ ...compared, nodes }], { algorithm, judge: missing });
    expect(returns(again)).toEqual([1, 0, null]);
  });

  it.each([
    ["ppo", {}, /needs the values of a critic, which a run's folder does not keep/],
    ["reinforce", { baseline: "moving" }, /all steps before, .* which a run.s folder does not keep/],
    ["grpo", { kl: { where: "reward" } }, /log-probabilities, .* not keep; .* kl.where=none/],
    ["grpo", {}, /grpo compares whole trajectories, and the episode train\/0\/0 continued from only one/],
    ["magrpo", {}, /magrpo compares whole trajectories/],
  ])("reports what %s %j lacks", async (name, options, message) => {
    const rescoring = rescore([cut(compared)], { algorithm: algorithmFrom(name, { ...options }) });
    await expect(rescoring).rejects.toMatchObject({
      code: "unsupported",
      message: expect.stringMatching(message),
    });
  });

  it("reports an alternative with several continuations to an algorithm that takes one for its value", async () => {
    const tree = alternatives(
      0,
      [1, 2].map(() => [0, 1]),
    );
    await expect(rescore([tree], { algorithm: algorithmFrom("c3") })).rejects.toMatchObject({
      code: "unsupported",
      message: expect.stringMatching(/several actions in the state 1 of an alternative; .* continued=tree$/),
    });
    const whole = await rescore([tree], { algorithm: algorithmFrom("c3", { continued: "tree" }) });
    expect(whole.map(({ leftOut }) => leftOut)).toEqual(Array.from({ length: 6 }, () => undefined));
    const once = await rescore([alternatives(0, [[0, 1], [0]])], { algorithm: algorithmFrom("c3") });
    expect(once.filter(({ leftOut }) => leftOut === "continuation")).toHaveLength(1);
  });

  it("compares whole trajectories if they were recorded", async () => {
    const lines = [0, 1].map((score) => ({ actions: [action(), action({ turn: 1 })], score }));
    const credited = await rescore([trajectories(0, lines)], { algorithm: algorithmFrom("rloo") });
    expect(credited.map(({ advantage }) => advantage)).toEqual([-1, -1, 1, 1]);
  });
});
