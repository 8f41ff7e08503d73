import { describe, expect, it } from "vitest";
import { differences } from "./differences.ts";

describe("differences", () => {
  it("are named by their keys; lists are compared whole", () => {
    const left = { seed: 1, train: { steps: 3, topK: 0 }, team: { phases: [["a"], ["b"]] } };
    const right = { seed: 1, train: { steps: 4, topK: 0 }, team: { phases: [["a", "b"]] }, warmStart: {} };
    expect(differences(left, right)).toEqual([
      { key: "train.steps", values: [3, 4] },
      { key: "team.phases", values: [[["a"], ["b"]], [["a", "b"]]] },
      { key: "warmStart", values: [undefined, {}] },
    ]);
    expect(differences(left, structuredClone(left))).toEqual([]);
  });
});
