/**
 * What the rewards of single actions sum to over an episode that does not solve; docs/environments.md quotes the bounds that
 * are asserted here. The search is the conformance kit's.
 */
import { describe, expect, it } from "vitest";
import { childKey, rootKey } from "../random.ts";
import type { Setting } from "./conformance/play.ts";
import { unsolvedPlays } from "./conformance/sums.ts";
import { total } from "./conformance/total.ts";
import { createEnvironment, environments } from "./registry.ts";

function settingOf(name: string): Setting {
  const environment = createEnvironment(name, {});
  const seats = Object.keys(environment.seats);
  return { environment, seats, turns: 4, tasks: 200, key: rootKey(1), milliseconds: 10_000 };
}

/** The most that the search finds in eight turns is more than this; the solver earns 2 with its one action. */
const farms: Readonly<Record<string, Readonly<Record<string, number>>>> = {
  "plan-path": { scout: 12, planner: 5 },
  sudoku: { proposer: 12 },
  "eight-queens": { proposer: 12 },
  sokoban: { proposer: 12, planner: 4 },
  blocksworld: { proposer: 12, planner: 4 },
};

const seats = environments.flatMap(({ name }) =>
  Object.keys(settingOf(name).environment.seats).map((seat) => ({ name, seat })),
);

describe.each(seats)("what $seat of $name is paid without solving", ({ name, seat }) => {
  const setting = settingOf(name);
  const earned = unsolvedPlays(setting, seat).map((play) => play.earned);

  it("is more than the solver's in all, unless its rewards may be added up", () => {
    const isFarmed = setting.environment.summable?.includes(seat) !== true;
    const most = Math.max(...earned);
    if (isFarmed) expect(most).toBeGreaterThan(farms[name]?.[seat] ?? Infinity);
    // All but one of the placements are the most that does not solve.
    else expect(most).toBeLessThan(2);
    expect(most).toBeGreaterThan(1.5);
  });
});

it.each(["sudoku", "eight-queens"])(
  "%s pays for solving one by one more than for solving at once",
  (name) => {
    const environment = createEnvironment(name, {});
    let state = environment.start(environment.task("train", childKey(rootKey(1), name)));
    const placements = (environment.solve?.(state, "planner") ?? "").split(" ");
    let earned = 0;
    for (const planner of placements) {
      const result = environment.step(state, { planner });
      earned += total(result.rewards["planner"]);
      state = result.state;
    }
    expect(environment.outcome(state).success).toBe(true);
    // Shares that add up to 1 for the planner; for the team too, where the last is 1 instead.
    expect(earned).toBeCloseTo(3 - 1 / placements.length, 9);
  },
);
