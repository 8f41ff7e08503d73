import { describe, expect, it } from "vitest";
import { childKey, generatorOf, rootKey } from "../../random.ts";
import { distancesTo } from "../grid/board.ts";
import type { GameSplit } from "../tasks.ts";
import { drawHalf, drawStarts, drawTask, splitOf, type Half } from "./generator.ts";
import { allHalves, countHalves, optionsOf } from "./test-blind.ts";

const options = optionsOf();
const splits: readonly GameSplit[] = ["train", "validation", "heldOut"];

function halves(split: GameSplit, count: number): Half[] {
  return Array.from({ length: count / 2 }, (_, index) => {
    const { red, blue } = drawTask(options, split, childKey(rootKey(3), index));
    return [red, blue];
  }).flat();
}

describe("a half", () => {
  it.each(splits)("of %s has the requested thin cells and path length", (split) => {
    for (const { ice, start } of halves(split, 200)) {
      expect(ice.walls.replaceAll(".", "")).toHaveLength(7);
      expect(distancesTo(ice)[start]).toBeGreaterThanOrEqual(4);
      expect(distancesTo(ice)[start]).toBeLessThanOrEqual(6);
      expect(splitOf(ice)).toBe(split);
    }
  });

  it("is uniform: each of a few halves is drawn equally often", () => {
    const few = optionsOf({ size: 3, thin: 2, distance: { least: 4, most: 4 } });
    const all = countHalves(allHalves(few, "train"));
    const generator = generatorOf(rootKey(5));
    const drawn = new Map<string, number>();
    for (let count = 0; count < 40 * all; count++) {
      const half = JSON.stringify(drawHalf(few, "train", generator));
      drawn.set(half, (drawn.get(half) ?? 0) + 1);
    }
    expect(drawn.size).toBe(all);
    // 40 of each expected, with a standard deviation of 6.3.
    expect(Math.min(...drawn.values())).toBeGreaterThan(12);
    expect(Math.max(...drawn.values())).toBeLessThan(75);
  });

  it("cannot be drawn if none has the requested length", () => {
    const none = optionsOf({ size: 3, thin: 7, distance: { least: 4, most: 6 } });
    expect(() => drawTask(none, "train", rootKey(1))).toThrow(
      "thin-ice: no half with a path of 4 to 6 cells in 100000 draws (size 3, thin 7); use fewer thin cells or other distances",
    );
  });
});

describe("splits", () => {
  it("have many tasks: 15,629 held-out halves are 244 million lakes", () => {
    expect(countHalves(allHalves(options, "heldOut")) ** 2).toBe(244_265_641);
  });
});

describe("more starts on the same ice", () => {
  it("have distances within the same bounds", () => {
    const half = drawHalf(options, "train", generatorOf(rootKey(9)));
    const more = drawStarts(options, half, generatorOf(rootKey(2)), 40);
    expect(more).toHaveLength(40);
    expect(new Set(more.map(({ ice }) => ice))).toEqual(new Set([half.ice]));
    const allowed = [...distancesTo(half.ice)].flatMap((length, cell) =>
      length >= 4 && length <= 6 ? [cell] : [],
    );
    expect(new Set(more.map(({ start }) => start))).toEqual(new Set(allowed));
  });
});
