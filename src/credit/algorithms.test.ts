import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { algorithmFrom, algorithms } from "./algorithms.ts";

describe("algorithmFrom", () => {
  it("gives AT-GRPO the paper's tree: K actions at every role and turn, the best is kept", () => {
    const { sampling, objective } = algorithmFrom("at-grpo", { samples: 4 });
    expect(sampling).toEqual({ branch: { root: 4, inner: 4 }, keep: "best" });
    expect(objective).toEqual({
      loss: { type: "ppo", clipLow: 0.2, clipHigh: 0.2 },
      aggregation: "token-mean",
    });
  });

  it("gives GRPO and REINFORCE whole trajectories", () => {
    const lines = { branch: { root: 5, inner: 1 }, keep: "all" };
    expect(algorithmFrom("grpo", { samples: 5 }).sampling).toEqual(lines);
    expect(algorithmFrom("reinforce", { samples: 5 }).sampling).toEqual(lines);
    expect(algorithmFrom("reinforce").objective.loss).toEqual({ type: "importance_sampling" });
  });

  it.each([
    ["at-grop", {}, /no algorithm at-grop; did you mean `at-grpo`/],
    ["q-learning", {}, new RegExp(`no algorithm q-learning; known: ${Object.keys(algorithms).join(", ")}`)],
    // A property of every object.
    ["constructor", {}, /no algorithm constructor; known: at-grpo/],
    ["grpo", { sampels: 4 }, /grpo: there is no option sampels; did you mean `samples`/],
    [
      "gspo",
      { alpha: 1 },
      /gspo: there is no option alpha; known: samples, standardise, .*overlong, reward$/,
    ],
    ["at-grpo", { samples: 1 }, /at-grpo: samples: Too small: expected number to be >=2/],
  ])("rejects %s %j", (name, options, message) => {
    expect(() => algorithmFrom(name, options)).toThrowError(
      expect.objectContaining({ code: "bad_recipe", message: expect.stringMatching(message) as string }),
    );
  });
});

describe("KL that is off", () => {
  it.each([{}, { where: "none" }, { where: "reward", coefficient: 0 }, { coefficient: 0 }])(
    "is off with %j",
    (kl) => {
      expect(algorithmFrom("reinforce", { kl }).kl).toBeNull();
    },
  );
});

describe("docs/algorithms.md", () => {
  const page = readFileSync(new URL("../../docs/algorithms.md", import.meta.url), "utf8");

  it("has every row of the table", () => {
    const names = Object.keys(algorithms);
    expect(names.filter((name) => !page.includes(`\`${name}\``))).toEqual([]);
  });
});
