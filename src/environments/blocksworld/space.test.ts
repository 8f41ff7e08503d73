import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { generatorOf, rootKey } from "../../random.ts";
import { canonicalPlan, movesBetween, randomPlan, spaceOf } from "./space.ts";
import { anyTask, towersOf } from "./test-blocks.ts";
import { afterMove, listTowers, placeFor, problemOf, sameTowers, type Towers } from "./notation.ts";

describe("towers", () => {
  it("are listed from the table up, in the order of their lowest blocks", () => {
    expect(listTowers(towersOf("ca bed"))).toEqual([
      [1, 4, 3],
      [2, 0],
    ]);
  });

  it.each([
    ["moved a, which has a block on it", 0, 2],
    ["moved b onto itself", 1, 1],
    ["moved b to where it is", 1, 0],
    ["moved c to where it is", 2, -1],
    ["moved c onto a, which has a block on it", 2, 0],
    ["moved a block that is not there", 5, -1],
    ["moved b onto a block that is not there", 1, -2],
  ])("%s", (problem, block, to) => {
    expect(problemOf(towersOf("ab c"), { block, to })).toBe(problem);
  });

  it("change by a move, without mutation", () => {
    const on = towersOf("ab c");
    expect(problemOf(on, { block: 1, to: 2 })).toBeUndefined();
    expect(afterMove(on, { block: 1, to: 2 })).toEqual(towersOf("a cb"));
    expect(on).toEqual(towersOf("ab c"));
  });

  it("move a block to its place if that is ready, otherwise to the table", () => {
    const goal = towersOf("abc");
    expect(placeFor(towersOf("ac b"), goal, 1)).toBe(-1);
    expect(placeFor(towersOf("a b c"), goal, 1)).toBe(0);
    expect(placeFor(towersOf("a cb"), goal, 2)).toBe(-1);
    // b is on a, but a is not where it belongs.
    expect(placeFor(towersOf("dab c"), towersOf("abc d"), 2)).toBe(-1);
  });
});

describe("the space", () => {
  it.each([
    // Numbers of sets of lists of n labelled items (OEIS A000262).
    [3, 13],
    [4, 73],
    [5, 501],
    [6, 4051],
  ])("of %i blocks has %i arrangements", (blocks, ways) => {
    expect(spaceOf(blocks).all).toHaveLength(ways);
  });

  it("has the distances counted by hand", () => {
    expect(movesBetween(towersOf("abc"), towersOf("abc"))).toBe(0);
    expect(movesBetween(towersOf("ab c"), towersOf("abc"))).toBe(1);
    expect(movesBetween(towersOf("abc"), towersOf("cba"))).toBe(3);
    // Sussman's anomaly: c is on a; the goal is a on b on c.
    expect(movesBetween(towersOf("ac b"), towersOf("cba"))).toBe(3);
    expect(movesBetween(towersOf("ab cd"), towersOf("ba dc"))).toBe(4);
  });

  it("has symmetric distances that satisfy the triangle inequality", () => {
    const anyWay = fc.nat(500).map((number): Towers => spaceOf(5).all[number] ?? []);
    fc.assert(
      fc.property(anyWay, anyWay, anyWay, (one, two, three) => {
        expect(movesBetween(one, two)).toBe(movesBetween(two, one));
        expect(movesBetween(one, three)).toBeLessThanOrEqual(
          movesBetween(one, two) + movesBetween(two, three),
        );
        expect(movesBetween(one, two) === 0).toBe(sameTowers(one, two));
      }),
    );
  });
});

describe("a plan of the solver", () => {
  it("is shortest although it moves blocks only to their place or to the table, for all pairs of 4 blocks", () => {
    const { all } = spaceOf(4);
    const lengths = all.map((on) =>
      all.map((goal) => canonicalPlan(on, goal).length - movesBetween(on, goal)),
    );
    expect(new Set(lengths.flat())).toEqual(new Set([0]));
  });

  it("leads to the goal, canonical or random", () => {
    fc.assert(
      fc.property(anyTask, fc.nat(), ({ on, goal }, seed) => {
        for (const plan of [canonicalPlan(on, goal), randomPlan(on, goal, generatorOf(rootKey(seed)))]) {
          expect(plan).toHaveLength(movesBetween(on, goal));
          expect(plan.reduce(afterMove, [...on])).toEqual(goal);
        }
      }),
    );
  });
});
