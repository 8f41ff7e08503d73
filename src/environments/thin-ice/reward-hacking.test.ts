/** Searches for exploits: reward without getting both across. */
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { total } from "../conformance/total.ts";
import { outcomeOf, solve, startState, stepState, type IceState } from "./rules.ts";
import { anyTask, anyWords } from "./test-blind.ts";

/** Rounding of sums of doubles. */
const tolerance = 1e-9;

/** What a seat writes in a turn: the solver's action, a part of it, or anything. */
type Choice = {
  readonly kind: "solver" | "walk" | "say" | "any";
  readonly cut: number;
  readonly words: string;
};

const anyChoice: fc.Arbitrary<Choice> = fc.record({
  kind: fc.constantFrom("solver", "walk", "say", "any", "any"),
  cut: fc.nat({ max: 4 }),
  words: anyWords,
});

function written(state: IceState, seat: "red" | "blue", { kind, cut, words }: Choice): string {
  const [, walk = "", say = ""] = /walk (.*) say (.*)/.exec(solve(3, state, seat)) ?? [];
  const some = (list: string): string => list.split(" ").slice(0, cut).join(" ") || "none";
  if (kind === "solver") return `walk ${walk} say ${say}`;
  if (kind === "walk") return `walk ${some(walk)} say ${words}`;
  return kind === "say" ? `walk ${words} say ${some(say)}` : `walk ${words} say ${words}`;
}

const anyTurns = fc.array(fc.record({ red: anyChoice, blue: anyChoice }), { maxLength: 12 });

interface Playthrough {
  readonly state: IceState;
  /** Total by seat. */
  readonly team: Record<"red" | "blue", number>;
  readonly local: Record<"red" | "blue", number>;
}

function playAll(state: IceState, turns: readonly Record<"red" | "blue", Choice>[]): Playthrough {
  const played = { state, team: { red: 0, blue: 0 }, local: { red: 0, blue: 0 } };
  for (const turn of turns) {
    const { state: next, rewards } = stepState(3, played.state, {
      red: written(played.state, "red", turn.red),
      blue: written(played.state, "blue", turn.blue),
    });
    played.state = next;
    for (const seat of ["red", "blue"] as const) {
      played.team[seat] += rewards[seat]?.team ?? NaN;
      played.local[seat] += rewards[seat]?.local ?? NaN;
    }
  }
  return played;
}

describe("a whole episode", () => {
  it("pays the team its highest score and a seat at most 1 of its own, in any number of turns", () => {
    fc.assert(
      fc.property(anyTask, anyTurns, (task, turns) => {
        const { state, team, local } = playAll(startState(task), turns);
        for (const seat of ["red", "blue"] as const) {
          expect(team[seat]).toBeLessThanOrEqual(state.best + tolerance);
          expect(local[seat]).toBeLessThanOrEqual(1 + tolerance);
        }
      }),
      { numRuns: 200 },
    );
  });

  it("pays each less for not getting both across than for getting across at once", () => {
    let unsolved = 0;
    fc.assert(
      fc.property(anyTask, anyTurns, (task, turns) => {
        const start = startState(task);
        const { state, team, local } = playAll(start, turns);
        if (outcomeOf(state).success) return;
        unsolved++;
        const solved = stepState(3, start, { red: solve(3, start, "red"), blue: solve(3, start, "blue") });
        expect(outcomeOf(solved.state).success).toBe(true);
        for (const seat of ["red", "blue"] as const) {
          expect(team[seat] + local[seat]).toBeLessThan(1.5);
          expect(total(solved.rewards[seat])).toBeGreaterThan(1.6);
        }
      }),
      { numRuns: 200 },
    );
    expect(unsolved).toBeGreaterThan(60);
  });

  it("pays nothing for walking to and fro or for repeating a message", () => {
    fc.assert(
      fc.property(anyTask, fc.integer({ min: 1, max: 4 }), (task, times) => {
        let state = startState(task);
        const [, walk = "", say = ""] = /walk (.*) say (.*)/.exec(solve(3, state, "red")) ?? [];
        const [first = ""] = walk.split(" ");
        state = stepState(3, state, { red: `walk ${first} say ${say}` }).state;
        const home = `${"abcd"[task.red.start % 4]}${Math.floor(task.red.start / 4) + 1}`;
        for (let round = 0; round < times; round++) {
          for (const cell of [home, first]) {
            const { state: next, rewards } = stepState(3, state, { red: `walk ${cell} say ${say}` });
            expect(total(rewards["red"])).toBe(0);
            state = next;
          }
        }
      }),
    );
  });
});

describe("one action", () => {
  it("earns at most what the solver's earns, in any state of any episode", () => {
    fc.assert(
      fc.property(anyTask, anyTurns, anyChoice, (task, turns, choice) => {
        const { state } = playAll(startState(task), turns);
        const best = stepState(3, state, { red: solve(3, state, "red") });
        const other = stepState(3, state, { red: written(state, "red", choice) });
        expect(total(other.rewards["red"])).toBeLessThanOrEqual(total(best.rewards["red"]) + tolerance);
      }),
      { numRuns: 300 },
    );
  });
});
