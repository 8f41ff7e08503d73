/** Rows and options compared with what their authors' code gives on random batches: tests/fixtures/credit/published.py. */
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { algorithmFrom } from "./algorithms.ts";
import { baselinesAfter, credit } from "./credit.ts";
import { maxVarianceSubset } from "./selection.ts";
import { action, distance, episodeFrom, trajectories, type TreeSketch } from "./testing.ts";

interface Published {
  readonly c3: readonly {
    readonly fanout: readonly number[];
    readonly episodes: readonly TreeSketch[];
    readonly expected: readonly Credited[];
  }[];
  readonly spiral: readonly { readonly decay: number; readonly steps: readonly SpiralStep[] }[];
  readonly pods: readonly {
    readonly rewards: readonly number[];
    readonly kept: readonly number[];
    readonly variance: number;
    readonly advantages: readonly number[];
  }[];
}

interface Credited {
  readonly episode: number;
  readonly node: string;
  readonly role: string;
  readonly advantage: number;
  readonly standardised: number;
}

interface SpiralStep {
  readonly games: readonly {
    /** Of the first player; the other loses as much. */
    readonly reward: number;
    readonly actions: readonly {
      readonly player: 0 | 1;
      readonly turn: number;
      readonly advantage: number;
    }[];
  }[];
  /** After the step. */
  readonly baselines: readonly [number, number];
}

const file = new URL("../../tests/fixtures/credit/published.json", import.meta.url);
const published = JSON.parse(readFileSync(file, "utf8")) as Published;

/** Their tensors are float32. */
const ofFloats = 1e-6;

describe.each(published.c3)("C3's code, $fanout samples of each role", ({ fanout, episodes, expected }) => {
  const [first = 0, samples = 0] = fanout;
  const trees = episodes.map((sketch, task) => episodeFrom(task, sketch).episode);
  const advantagesOf = (name: string, options: object): number[] => {
    const credited = credit(trees, algorithmFrom(name, { samples, ...options }));
    return expected.map(
      ({ episode, node, role }) =>
        credited.find(
          (one) => one.episode === trees[episode] && one.node.id === node && one.action.role === role,
        )?.advantage ?? Number.NaN,
    );
  };

  const wanted = expected.map(({ advantage }) => advantage);

  it("credits each action with the mean reward below it, minus that of the others", () => {
    expect(distance(advantagesOf("c3", { first, continued: "tree" }), wanted)).toBeLessThan(ofFloats);
  });

  it("divides that by its deviation, as its trainer does by default", () => {
    const found = advantagesOf("c3", { first, continued: "tree", standardise: true });
    const standardised = expected.map((one) => one.standardised);
    // Dividing by a deviation of about 1e-2 enlarges the rounding of float32.
    expect(distance(found, standardised)).toBeLessThan(100 * ofFloats);
  });

  it("is MARLOO of roles that act one after the other", () => {
    expect(distance(advantagesOf("marloo", {}), wanted)).toBeLessThan(ofFloats);
  });
});

describe.each(published.spiral)("SPIRAL's code with a decay of $decay", ({ decay, steps }) => {
  it("gives each role's trajectories, step after step, their rewards minus what the mean was before", () => {
    const algorithm = algorithmFrom("reinforce", { baseline: "moving", reward: "rewards", decay });
    let baselines: Readonly<Record<string, number>> = {};
    for (const { games, baselines: after } of steps) {
      const episodes = games.map(({ reward, actions }, task) => {
        const line = actions.map(({ player, turn }) => {
          const isLast = !actions.some((later) => later.player === player && later.turn > turn);
          const earned = player === 0 ? reward : -reward;
          return action({ role: `player ${player}`, turn, team: isLast ? earned : 0 });
        });
        return trajectories(task, [{ actions: line, score: 0 }]);
      });
      const credited = credit(episodes, algorithm, { baselines });
      const wanted = games.flatMap(({ actions }) => actions.map(({ advantage }) => advantage));
      // Both are float64.
      const found = credited.map(({ advantage }) => advantage);
      expect(distance(found, wanted)).toBeLessThan(1e-12);
      baselines = baselinesAfter(credited, algorithm, baselines);
      expect(distance([baselines["player 0"] ?? 0, baselines["player 1"] ?? 0], after)).toBeLessThan(1e-12);
    }
  });
});

describe.each(published.pods)("PODS's code, $rewards", ({ rewards, kept, variance, advantages }) => {
  const lines = rewards.map((score) => ({ actions: [action()], score }));
  const options = { samples: rewards.length, downSample: kept.length, standardise: false };
  const credited = credit([trajectories(0, lines)], algorithmFrom("grpo", options));

  it("selects the same", () => {
    expect(maxVarianceSubset(rewards, kept.length)).toEqual(kept);
    const trained = credited.flatMap(({ leftOut }, index) => (leftOut === undefined ? [index] : []));
    expect(trained).toEqual(kept);
  });

  it("compares the selected with each other, not with those left out", () => {
    const found = credited.filter(({ leftOut }) => leftOut === undefined).map((one) => one.advantage);
    // Theirs are divided by the deviation plus 1e-4; `grpo` adds 1e-6, as the other codes do.
    const wanted = advantages.map((one) => one * (Math.sqrt(variance) + 1e-4));
    expect(distance(found, wanted)).toBeLessThan(ofFloats);
    expect(
      credited.filter((one) => one.leftOut !== undefined).every(({ advantage }) => advantage === 0),
    ).toBe(true);
  });
});
