import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Episode } from "../rollout/episode.ts";
import { edgesOf } from "../rollout/navigate.ts";
import { mean, standardDeviation } from "../statistics.ts";
import type { Normalisation } from "./judge.ts";
import { scalingBy, withScores, type ScoreStatistics } from "./rewards.ts";
import { talk } from "./testing/talk.ts";

/** Two roles, two actions each in each of three trajectories; `scores` in the order of the nodes. */
async function scored(scores: readonly number[]): Promise<Episode> {
  const episode = await talk();
  let at = 0;
  const nodes = episode.nodes.map((node) => ({
    ...node,
    actions: node.actions.map((edge) => {
      const score = scores[at++];
      return { ...edge, verdict: score === undefined ? { failure: "none" } : { score } };
    }),
  }));
  return { ...episode, nodes };
}

const kinds = (by: Normalisation, type = "") => ({ by, typeOf: () => type });

function scaled(statistics: ScoreStatistics, episode: Episode, by: Normalisation, type = ""): number[] {
  const scale = scalingBy(statistics, episode, kinds(by, type));
  return episode.nodes.flatMap((node) =>
    edgesOf(episode, node).flatMap(({ action }, index) => {
      const verdict = node.actions[index]?.verdict;
      return verdict !== undefined && "score" in verdict ? [scale(verdict.score, action)] : [];
    }),
  );
}

/** first, second, first, second: the judge is strict with first. */
const biased = [0, 0.6, 0.2, 1];

const figures = (average: number, squares: number) => ({
  weight: 2,
  mean: average,
  squares: expect.closeTo(squares, 15) as number,
});

describe("normalised scores", () => {
  it("have the mean and deviation of all scores in each role", async () => {
    const episode = await scored(biased);
    const statistics = withScores({}, [episode], kinds("role"));
    expect(statistics).toEqual({ '["first"]': figures(0.1, 0.02), '["second"]': figures(0.8, 0.08) });
    // All: mean .45, squared differences .2025 + .0225 + .0625 + .3025 = .59.
    const [low, high] = [0.45 - Math.sqrt(0.59 / 4), 0.45 + Math.sqrt(0.59 / 4)];
    const found = scaled(statistics, episode, "role");
    for (const [index, value] of [low, low, high, high].entries())
      expect(found[index]).toBeCloseTo(value, 14);
  });

  it("keep the scores if there is one kind", async () => {
    const episode = await scored(biased);
    const found = scaled(withScores({}, [episode], kinds("task type")), episode, "task type");
    for (const [index, score] of biased.entries()) expect(found[index]).toBeCloseTo(score, 15);
  });

  it("are the mean of all where a kind has one score, or equal ones", async () => {
    const episode = await scored([0.3, 0.1, 0.3, 0.5]);
    const found = scaled(withScores({}, [episode], kinds("role")), episode, "role");
    expect(found[0]).toBeCloseTo(0.3, 15);
    expect(found[2]).toBeCloseTo(0.3, 15);
    const lone = await scored([0.7]);
    expect(scaled(withScores({}, [lone], kinds("both", "sum")), lone, "both", "sum")).toEqual([0.7]);
    expect(withScores({}, [await scored([])], kinds("role"))).toEqual({});
  });

  it("are not moved by rounding where all scores of a kind are equal", async () => {
    const episode = await scored([0.1, 0.2, 0.1, 0.4, 0.1, 0.6, 0.1, 0.8, 0.1, 1, 0.1, 0]);
    const [first = NaN, , third] = scaled(withScores({}, [episode], kinds("role")), episode, "role");
    expect(third).toBe(first);
    expect(first).toBeCloseTo(0.3, 14);
  });

  it("remember earlier steps with less weight, and their kinds", async () => {
    const [sum, difference] = [kinds("both", "sum"), kinds("both", "difference")];
    const before = withScores({}, [await scored([0, 1, 0.4, 0])], sum);
    const after = withScores(before, [await scored([0.5])], difference);
    expect(Object.keys(after)).toEqual(['["first","sum"]', '["second","sum"]', '["first","difference"]']);
    expect(after['["first","sum"]']).toEqual({
      weight: 1.8,
      mean: 0.2,
      squares: expect.closeTo(0.9 * 0.08, 15) as number,
    });
    const again = withScores(before, [await scored([1])], sum);
    expect(again['["first","sum"]']?.mean).toBeCloseTo((1.8 * 0.2 + 1) / 2.8, 15);
    expect(JSON.parse(JSON.stringify(after))).toEqual(after);
  });

  it("do not depend on a judge's strictness with a role", async () => {
    const score = fc.integer({ min: 0, max: 20 }).map((tenth) => tenth / 20);
    const scores = fc.array(score, { minLength: 12, maxLength: 12 });
    const strictness = fc.record({ by: fc.double({ min: 0.2, max: 0.9, noNaN: true }) });
    await fc.assert(
      fc.asyncProperty(scores, strictness, async (given, { by }) => {
        const strict = given.map((value, index) => (index % 2 === 0 ? by * value : value));
        const episodes = await Promise.all([scored(given), scored(strict)]);
        const [plain = [], biasedBy = []] = episodes.map((episode) => {
          const found = scaled(withScores({}, [episode], kinds("role")), episode, "role");
          const [centre, spread] = [mean(found), standardDeviation(found)];
          return found.map((value) => (value - centre) / Math.max(spread, 1e-3));
        });
        // Up to scale: the deviation of all scores changes.
        for (const [index, value] of plain.entries()) expect(biasedBy[index]).toBeCloseTo(value, 6);
      }),
      { numRuns: 30 },
    );
  });
});
