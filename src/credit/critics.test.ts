import { describe, expect, it } from "vitest";
import { algorithmFrom } from "./algorithms.ts";
import { credit } from "./credit.ts";
import { criticData, criticLoss, criticName, valueQueries } from "./critics.ts";
import { action, decision, episodeFrom, trajectories, type TreeSketch } from "./testing.ts";

const long = { tokens: Int32Array.of(5, 6, 7), logprobs: Float32Array.of(-1, -1, -1) };

describe("a critic per role", () => {
  const ppo = algorithmFrom("ppo", { whiten: false, lambda: 1, valueClip: 0.2 });
  const lines = [
    { actions: [action({ role: "a" }), action({ role: "b", turn: 0, frozen: true })], score: 1 },
    {
      actions: [action({ role: "a", ...long }), action({ role: "c", prompt: Int32Array.of(9) })],
      score: 0.5,
    },
  ];
  const episode = trajectories(0, lines);
  const queries = valueQueries([episode], ppo);

  it("is asked for the value before every token, one prompt at a time, without frozen roles", () => {
    const asked = queries.data.map(
      ({ policy, prompt, continuations }) =>
        `${policy} ${prompt.join()} ${continuations.map(({ tokens }) => tokens.join()).join(" ")}`,
    );
    expect(asked).toEqual(["critic-a 1,2 3,4 5,6,7", "critic-c 9 3,4"]);
  });

  it("assigns each action its values, and is trained on the targets from credit", () => {
    const given = [Float32Array.of(0.5, 0.5), Float32Array.of(0, 0, 0), Float32Array.of(0.25, 0)];
    const signals = { values: queries.read(given) };
    const credited = credit([episode], ppo, signals);
    expect(credited.map(({ advantages }) => advantages.join(" "))).toEqual([
      "0.5 0.5",
      "0 0",
      "0.5 0.5 0.5",
      "0.25 0.5",
    ]);
    const data = criticData(credited, ppo, signals);
    const prompts = data.map(({ policy, prompt }) => `${policy} ${prompt.join()}`);
    expect(prompts).toEqual(["critic-a 1,2", "critic-c 9"]);
    // λ = 1: the score itself; five values of a weigh 1/5 each, two of c 1/2
    expect(data[0]?.continuations).toEqual([
      {
        tokens: Int32Array.of(3, 4),
        targets: Float32Array.of(1, 1),
        weights: new Float32Array(2).fill(1 / 5),
        values: given[0],
      },
      {
        tokens: Int32Array.of(5, 6, 7),
        targets: new Float32Array(3).fill(0.5),
        weights: new Float32Array(3).fill(1 / 5),
        values: given[1],
      },
    ]);
    expect(data[1]?.continuations[0]?.weights).toEqual(new Float32Array(2).fill(1 / 2));
    expect(ppo.critic && criticLoss(ppo.critic)).toEqual({ type: "value", clip: 0.2 });
  });
});

describe("a central critic", () => {
  const maac = algorithmFrom("maac", { reward: "action", whiten: false });
  const both = { turn: 0, phase: 0, frozen: false, local: 0, logprobs: [-1, -1], sample: 0 };
  const [left, right] = [
    { ...both, role: "left", team: 0 },
    { ...both, role: "right", team: 1 },
  ];
  const child: TreeSketch = { actions: [left, right], children: [], kept: true, score: 1 };
  const { episode } = episodeFrom(0, { children: [child] });
  const queries = valueQueries([episode], maac);

  it("sees the prompts of all roles of the phase, and is asked for one value", () => {
    expect(queries.data).toHaveLength(1);
    const [datum] = queries.data;
    const prompts = episode.actions.flatMap(({ prompt }) => [...prompt]);
    expect(datum?.policy).toBe("critic");
    expect([...(datum?.prompt ?? [])]).toEqual(prompts);
    expect(datum?.continuations.map(({ tokens }) => tokens.length)).toEqual([1, 1]);
  });

  it("gives both roles joint reward minus value, with the joint reward as target", () => {
    const signals = { values: queries.read([Float32Array.of(0.25), Float32Array.of(0.25)]) };
    const credited = credit([episode], maac, signals);
    expect(credited.map(({ advantages }) => advantages.join(" "))).toEqual(Array(2).fill("0.25 0.25"));
    const [datum] = criticData(credited, maac, signals);
    const half = Float32Array.of(0.5);
    const trained = datum?.continuations.map(({ targets, weights }) => [targets, weights]);
    expect(trained).toEqual([
      [half, half],
      [half, half],
    ]);
    expect(maac.critic && criticLoss(maac.critic)).toEqual({ type: "value" });
    expect(maac.critic && criticName("left", maac.critic)).toBe("critic");
  });
});

describe("an algorithm without a critic", () => {
  it("asks nothing", () => {
    const grpo = algorithmFrom("grpo");
    const episode = decision(0, [action()]);
    expect(valueQueries([episode], grpo).data).toEqual([]);
    expect(criticData(credit([trajectories(0, [{ actions: [action()], score: 1 }])], grpo), grpo)).toEqual(
      [],
    );
  });
});
