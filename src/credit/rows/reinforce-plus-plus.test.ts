/** REINFORCE++ with a score per action, compared with tests/fixtures/credit/reinforce_plus_plus.py. */
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import type { Action } from "../../rollout/episode.ts";
import { algorithmFrom } from "../algorithms.ts";
import { credit } from "../credit.ts";
import { toData } from "../data.ts";
import { action, distance, trajectories } from "../testing.ts";
import { whitenTokens } from "../whitening.ts";

type Numbers = readonly (readonly number[])[];

interface Published {
  readonly beta: number;
  readonly scores: readonly number[];
  readonly old: Numbers;
  readonly reference: Numbers;
  readonly new: Numbers;
  readonly returns: Numbers;
  readonly advantages: Numbers;
  readonly twice: { readonly oneRank: Numbers; readonly twoRanks: Numbers };
  readonly loss: number;
}

const file = new URL("../../../tests/fixtures/credit/reinforce-plus-plus.json", import.meta.url);
const published = JSON.parse(readFileSync(file, "utf8")) as Published;

/** Credit passes through float64; log-probabilities are float32 on both sides. */
const tolerance = 1e-9;

/** Twelve actions in four trajectories of three turns; token t of action i is 100 i + t. */
function episodeOf(scores: readonly number[]) {
  const actions = published.old.map((logprobs, index) =>
    action({
      team: scores[index] ?? Number.NaN,
      turn: index % 3,
      tokens: Int32Array.from(logprobs, (_, token) => 100 * index + token),
      logprobs: Float32Array.from(logprobs),
    }),
  );
  const lines = [0, 3, 6, 9].map((first) => ({ actions: actions.slice(first, first + 3), score: 0.5 }));
  return trajectories(0, lines);
}

const indexOf = ({ tokens }: Pick<Action, "tokens">): number => Math.floor((tokens[0] ?? 0) / 100);
const algorithm = algorithmFrom("reinforce-plus-plus", { kl: { coefficient: published.beta } });
const signals = {
  reference: (one: Action) => Float32Array.from(published.reference[indexOf(one)] ?? []),
};

function advantagesOf(scores: readonly number[], given = algorithm): Numbers {
  const credited = credit([episodeOf(scores)], given, signals);
  return credited
    .toSorted((one, other) => indexOf(one.action) - indexOf(other.action))
    .map(({ advantages }) => [...advantages]);
}

function furthest(found: Numbers, wanted: Numbers): number {
  return Math.max(...wanted.map((each, index) => distance(found[index], each)));
}

describe("REINFORCE++ as published", () => {
  it("sums the last token's score and KL from each token on", () => {
    const found = advantagesOf(published.scores, { ...algorithm, whitening: null });
    expect(furthest(found, published.returns)).toBeLessThan(tolerance);
  });

  it("whitens over all tokens of the policy", () => {
    expect(furthest(advantagesOf(published.scores), published.advantages)).toBeLessThan(tolerance);
  });

  it("has the loss of a mean over tokens, clipped by the ratio", () => {
    const credited = credit([episodeOf(published.scores)], algorithm, signals);
    const terms = toData(credited, algorithm, signals)
      .flatMap(({ continuations }) => continuations)
      .flatMap(({ tokens, logprobs = [], advantages = [] }) =>
        Array.from(advantages, (advantage, token) => {
          const now = published.new[indexOf({ tokens })]?.[token] ?? Number.NaN;
          const ratio = Math.exp(now - (logprobs[token] ?? Number.NaN));
          return -Math.min(ratio * advantage, Math.min(1.2, Math.max(0.8, ratio)) * advantage);
        }),
      );
    // The engine's advantages are float32.
    expect(terms.reduce((sum, term) => sum + term, 0)).toBeCloseTo(published.loss, 6);
  });

  it("would not change by whitening again, except that MARTI's first time is within one rank", () => {
    const again = whitenTokens(published.advantages.map((each) => Float64Array.from(each)));
    const found = again.map((each) => [...each]);
    expect(furthest(found, published.advantages)).toBeLessThan(tolerance);
    expect(furthest(published.twice.oneRank, published.advantages)).toBeLessThan(tolerance);
    expect(furthest(published.twice.twoRanks, published.advantages)).toBeGreaterThan(0.01);
  });

  it("credits each action with its own score: no return flows between actions of a trajectory", () => {
    const last = published.scores.with(2, 1 - (published.scores[2] ?? 0));
    const unwhitened = { ...algorithm, whitening: null };
    const [before, after] = [advantagesOf(published.scores, unwhitened), advantagesOf(last, unwhitened)];
    const changed = before.flatMap((each, index) => (distance(after[index], each) > 0 ? [index] : []));
    expect(changed).toEqual([2]);
  });

  it("counts truncated actions in the statistics, but does not train them", () => {
    const masking = algorithmFrom("reinforce-plus-plus", {
      kl: { coefficient: published.beta },
      truncated: "mask",
    });
    const episode = episodeOf(published.scores);
    const actions = episode.actions.map((one) =>
      indexOf(one) === 4 ? { ...one, stopReason: "length" as const } : one,
    );
    const credited = credit([{ ...episode, actions }], masking, signals);
    const advantages = credited.map((one) => [indexOf(one.action), one.advantages] as const);
    for (const [index, found] of advantages)
      expect(distance(found, published.advantages[index] ?? [])).toBeLessThan(tolerance);
    const trained = toData(credited, masking, signals).flatMap(({ continuations }) => continuations);
    const others = [0, 1, 2, 3, 5, 6, 7, 8, 9, 10, 11];
    expect(trained.map(indexOf).toSorted((one, other) => one - other)).toEqual(others);
  });
});
