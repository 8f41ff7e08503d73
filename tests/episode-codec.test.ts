import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { algorithmFrom } from "../src/credit/algorithms.ts";
import { credit } from "../src/credit/credit.ts";
import { rootKey } from "../src/random.ts";
import { decodeEpisode, encodeEpisode, promptHash, type EpisodeJson } from "../src/rollout/codec.ts";
import type { Action, Episode, RewardedAction, Verdict } from "../src/rollout/episode.ts";
import { growEpisode } from "../src/rollout/grow.ts";
import { numbersPolicy, pair, roleFor, settingFor } from "../src/rollout/testing/numbers.ts";
import { scriptedEngine, type Script } from "../src/rollout/testing/scripted-engine.ts";

const policy = numbersPolicy();
const counting: Script = (_, index, prompt) => `${index + (prompt.includes("first") ? 1 : 3)}`;

/** A tree of two turns in cross mode, whose first role keeps its conversation. */
function crossed(): Promise<Episode> {
  const roles = [roleFor("first", { memory: "conversation" }), roleFor("second")];
  const team = { ...pair, roles, phases: [["first", "second"]] };
  const scheme = { branch: { root: 2, inner: 2 }, keep: "all", joint: "cross" } as const;
  const engine = scriptedEngine(policy.tokenizer, counting);
  const start = { task: { size: 4 }, path: ["train", 3, 0], split: "train" };
  return growEpisode(settingFor(policy, { engine, team, scheme }), rootKey(1), start);
}

function throughJson(episode: Episode): Episode {
  const { json, prompts } = encodeEpisode(episode);
  const text = JSON.stringify(json);
  return decodeEpisode(JSON.parse(text), (hash) => prompts.get(hash), "here");
}

const frozen = <T>(value: T): T => {
  if (typeof value === "object" && value !== null && !ArrayBuffer.isView(value)) {
    Object.values(value).forEach(frozen);
    Object.freeze(value);
  }
  return value;
};

describe("an episode as JSON", () => {
  it("comes back the same", async () => {
    const episode = await crossed();
    expect(throughJson(episode)).toEqual(episode);
  });

  it("comes back with its verdicts", async () => {
    const environmentReward = { team: 0.1, local: 1, parts: { even: 1 }, reason: "late" };
    const verdicts = [{ score: 0.3, explanation: "so-so" }, { score: 1 }, { failure: "no idea" }];
    const { nodes, ...rest } = await crossed();
    const judged = nodes.map((node, index) => ({
      ...node,
      actions: node.actions.map(({ action }): RewardedAction => {
        const verdict = verdicts[index % 3] as Verdict;
        const reward = "score" in verdict ? { team: verdict.score, local: 0, parts: {} } : null;
        return { action, reward, verdict, ...(index % 2 === 0 ? { environmentReward } : {}) };
      }),
    }));
    const episode = { ...rest, nodes: judged };
    expect(throughJson(episode)).toEqual(episode);
  });

  it("has the same credit bit for bit, and is not mutated", async () => {
    const algorithm = algorithmFrom("magrpo", { joint: "cross", samples: 2, reward: "action" });
    const episode = await crossed();
    const numbersOf = (one: Episode) =>
      credit([frozen(one)], algorithm).map(({ action, group, advantages }) => [action.id, group, advantages]);
    expect(numbersOf(throughJson(episode))).toEqual(numbersOf(episode));
  });

  it("references each prompt by its hash, however many actions share it", async () => {
    const episode = await crossed();
    const { json, prompts } = encodeEpisode(episode);
    expect(new Set(json.actions.map(({ prompt }) => prompt))).toEqual(new Set(prompts.keys()));
    expect([...prompts].every(([hash, tokens]) => promptHash(Int32Array.from(tokens)) === hash)).toBe(true);
    expect(prompts.size).toBeLessThan(episode.actions.length);
    const shared = throughJson(episode).actions.filter((one) => one.parent === "" && one.role === "first");
    expect(shared).toHaveLength(2);
    expect(shared[0]?.prompt).toBe(shared[1]?.prompt);
  });

  const float32 = fc.oneof(
    fc.float(),
    fc.float({ min: -20, max: 0, noNaN: true }),
    fc.constantFrom(-0, Number.NaN, Infinity, -Infinity, 2 ** -149),
  );
  const words = fc.string({ unit: "binary" });
  const messages = fc.array(fc.record({ role: fc.constantFrom("user", "tool"), content: words }));
  const reply = fc.record(
    {
      text: words,
      thinking: words,
      calls: fc.array(fc.record({ name: words, arguments: fc.jsonValue() })),
      truncated: fc.boolean(),
    },
    { requiredKeys: ["text", "truncated"] },
  );
  const number = fc.double({ noNaN: true, noDefaultInfinity: true });
  // An environment names the terms of its reward; objects cannot have the key `__proto__`.
  const part = fc.string().filter((name) => name !== "__proto__");
  const reward = fc.record(
    { team: number, local: number, parts: fc.dictionary(part, number), reason: words },
    { requiredKeys: ["team", "local", "parts"] },
  );

  const verdict = fc.oneof(
    fc.record({ score: number, explanation: words }, { requiredKeys: ["score"] }),
    fc.record({ failure: words }),
  );
  const edge = fc.record(
    { reward: fc.option(reward), verdict, environmentReward: reward },
    { requiredKeys: ["reward"] },
  );

  it("preserves every bit of tokens and log-probabilities, and all text", async () => {
    const whole = await crossed();
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.nat(2 ** 31 - 1), float32)),
        reply,
        edge,
        fc.oneof(words, messages),
        fc.jsonValue(),
        (sampled, said, earned, seen, state) => {
          const tokens = Int32Array.from(sampled, ([token]) => token);
          const logprobs = Float32Array.from(sampled, ([, logprob]) => logprob);
          const entropies = logprobs.map((logprob) => logprob / 2);
          const json = JSON.parse(JSON.stringify({ state, said, earned, seen }));
          const [action, ...actions] = whole.actions;
          const changed = { ...(action as Action), tokens, logprobs, entropies, reply: json.said };
          const nodes = whole.nodes.map((node) => ({
            ...node,
            state: json.state,
            observations: { first: json.seen },
            actions: node.actions.map(({ action: id }) => ({ action: id, ...json.earned })),
          }));
          const episode: Episode = { ...whole, task: json.state, nodes, actions: [changed, ...actions] };
          expect(throughJson(episode)).toEqual(episode);
        },
      ),
      { numRuns: 200 },
    );
  });

  it("writes log-probabilities as short as possible", async () => {
    const whole = await crossed();
    const numbers = [-0.1, -1.5, -0.7654321, -12.345678];
    const actions = whole.actions.map((one) => ({ ...one, logprobs: Float32Array.from(numbers) }));
    expect(encodeEpisode({ ...whole, actions }).json.actions[0]?.logprobs).toEqual(numbers);
  });
});

describe("an invalid episode", () => {
  const cases: readonly (readonly [string, (json: EpisodeJson) => unknown, RegExp])[] = [
    ["of another version", (json) => ({ ...json, schema_version: 2 }), /schema_version/],
    ["without nodes", (json) => ({ ...json, nodes: [] }), /nodes/],
    [
      "whose nodes come before their parents",
      (json) => ({ ...json, nodes: json.nodes.toReversed() }),
      /has no parent/,
    ],
    ["with a node twice", (json) => ({ ...json, nodes: [...json.nodes, json.nodes.at(-1)] }), /two nodes/],
    [
      "with an action twice",
      (json) => ({ ...json, actions: [...json.actions, json.actions[0]] }),
      /two actions/,
    ],
    [
      "that references a missing action",
      (json) => ({ ...json, actions: json.actions.slice(1) }),
      /no action/,
    ],
    ["without an end", (json) => ({ ...json, ends: [{ ...json.ends[0], node: "9" }] }), /no node 9/],
    [
      "with a missing log-probability",
      (json) => ({ ...json, actions: json.actions.map((one) => ({ ...one, logprobs: [] })) }),
      /one log-probability, or one entropy, per token/,
    ],
    [
      "with an entropy too many",
      (json) => ({
        ...json,
        actions: json.actions.map((one) => ({ ...one, entropies: [...one.tokens, 1] })),
      }),
      /one log-probability, or one entropy, per token/,
    ],
  ];

  it.each(cases)("%s is `bad_run`", async (_, change, message) => {
    const { json, prompts } = encodeEpisode(await crossed());
    const decode = () => decodeEpisode(change(json), (hash) => prompts.get(hash), "line 7");
    expect(decode).toThrowError(
      expect.objectContaining({ code: "bad_run", message: expect.stringMatching(message) }),
    );
    expect(decode).toThrowError(/^line 7 is not a valid episode/);
  });

  it("references a prompt that was not stored", async () => {
    const { json } = encodeEpisode(await crossed());
    expect(() => decodeEpisode(json, () => undefined, "line 7")).toThrowError(/the prompt \w+ is missing/);
  });
});
