import { describe, expect, it } from "vitest";
import { algorithmFrom } from "../algorithms.ts";
import { credit } from "../credit.ts";
import { action, trajectories } from "../testing.ts";
import { overlongPenalty } from "./overlong.ts";

const long = (count: number) => ({
  tokens: new Int32Array(count),
  logprobs: new Float32Array(count).fill(-1),
});

describe("the over-long penalty", () => {
  it("grows from 0 over the buffer and stays at the penalty", () => {
    const option = { length: 10, buffer: 4, penalty: 0.5 };
    const paid = [1, 6, 7, 8, 10, 30].map((tokens) => overlongPenalty(tokens, option));
    expect(paid.map(Math.abs)).toEqual([0, 0, 0.125, 0.25, 0.5, 0.5]);
    expect(Math.min(...paid)).toBe(-0.5);
  });

  it("is shared by a trajectory; a frozen role pays none", () => {
    const overlong = { length: 4, buffer: 2, penalty: 1 };
    const lines = [
      { actions: [action(long(3)), action({ ...long(4), turn: 1 })], score: 1 },
      { actions: [action(long(1)), action({ ...long(4), turn: 1, frozen: true })], score: 1 },
    ];
    const returns = credit([trajectories(0, lines)], algorithmFrom("grpo", { overlong })).map(
      (one) => one.return,
    );
    expect(returns).toEqual([-0.5, -0.5, 1, 1]);
  });
});
