import { array, assert, double, property } from "fast-check";
import { describe, expect, it } from "vitest";
import { cutToWidth, rangeOf, roundTicks, scaleOf, spread, tickLabels, widthOf } from "./scales.ts";

it.each([
  [[0, 1], 5, [0, 0.2, 0.4, 0.6, 0.8, 1]],
  [[0, 150], 5, [0, 50, 100, 150]],
  [[0.12, 0.43], 3, [0.2, 0.4]],
  [[-3, 2], 5, [-3, -2, -1, 0, 1, 2]],
] as const)("marks %j at round numbers", (range, count, expected) => {
  expect(roundTicks(range, count)).toEqual(expected);
});

it("ticks of steps are whole numbers, also of few steps", () => {
  expect(roundTicks([0, 3], 5, true)).toEqual([0, 1, 2, 3]);
  expect(roundTicks([0, 12], 5, true)).toEqual([0, 5, 10]);
  expect(roundTicks([0, 120], 5, true)).toEqual([0, 25, 50, 75, 100]);
});

it.each([
  [
    [0, 1],
    ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"],
  ],
  [
    [-2, 2],
    ["−2", "−1", "0", "1", "2"],
  ],
  [
    [1000, 1002],
    ["1000.0", "1000.5", "1001.0", "1001.5", "1002.0"],
  ],
  [
    [8000, 20_000],
    ["10.0 k", "12.5 k", "15.0 k", "17.5 k", "20.0 k"],
  ],
  [
    [0, 3e6],
    ["0 M", "1 M", "2 M", "3 M"],
  ],
  [
    [0, 4e-5],
    ["0", "1e-5", "2e-5", "3e-5", "4e-5"],
  ],
] as const)("labels of ticks tell them apart, with as few digits as that takes: %j", (range, labels) => {
  expect(tickLabels(roundTicks(range, 5))).toEqual(labels);
});

it("labels of ticks are as many different ones", () => {
  assert(
    property(
      double({ noNaN: true, min: -1e6, max: 1e6 }),
      double({ noNaN: true, min: 1e-3, max: 1e9 }),
      (low, size) => {
        const ticks = roundTicks([low, low + size], 5);
        expect(new Set(tickLabels(ticks)).size).toBe(ticks.length);
      },
    ),
  );
});

it("a range is never empty, and a scale reaches its ends", () => {
  expect([rangeOf([]), rangeOf([2]), rangeOf([2, -1])]).toEqual([
    [0, 1],
    [1, 3],
    [-1, 2],
  ]);
  expect([1, 2, 3].map(scaleOf([1, 3], [100, 0]))).toEqual([100, 50, 0]);
});

it("a text that is too long is cut to what fits", () => {
  expect(cutToWidth("short", 100, 12)).toBe("short");
  const cut = cutToWidth("a long title that has no room", 100, 12);
  expect(cut).toMatch(/^a long.*…$/);
  expect(widthOf(cut, 12)).toBeLessThanOrEqual(100);
});

describe("labels next to lines", () => {
  it("by hand: overlapping ones become a block around their middle; others stay", () => {
    expect(spread([50, 52, 100], [0, 200], 10)).toEqual([46, 56, 100]);
    expect(spread([52, 50, 58], [0, 200], 10)).toEqual([160 / 3, 160 / 3 - 10, 160 / 3 + 10]);
    expect(spread([1, 0], [0, 200], 10)).toEqual([10, 0]);
    expect(spread([199, 200], [0, 200], 10)).toEqual([190, 200]);
  });

  it("are apart, in order and within the range, whatever the positions", () => {
    const places = array(double({ min: 0, max: 200, noNaN: true }), { minLength: 2, maxLength: 15 });
    assert(
      property(places, (wanted) => {
        const placed = spread(wanted, [0, 200], 10);
        const pairs = wanted.map((place, index) => [place, placed[index] ?? NaN] as const);
        const inOrder = pairs.toSorted(([left], [right]) => left - right).map(([, place]) => place);
        const gaps = inOrder.slice(1).map((place, index) => place - (inOrder[index] ?? NaN));
        expect(Math.min(...gaps)).toBeGreaterThan(10 - 1e-9);
        expect(Math.min(...placed)).toBeGreaterThan(-1e-9);
        expect(Math.max(...placed)).toBeLessThan(200 + 1e-9);
      }),
    );
  });
});
