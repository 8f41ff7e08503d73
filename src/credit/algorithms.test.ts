import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { algorithmFrom, algorithms } from "./algorithms.ts";

describe("algorithmFrom", () => {
  it("gives AT-GRPO the paper's tree: K actions at every role and turn, the best goes on", () => {
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
    ["an unknown name", "at-grop", {}, "there is no algorithm at-grop; did you mean `at-grpo`?"],
    [
      "a name far from all",
      "q-learning",
      {},
      `there is no algorithm q-learning; known: ${Object.keys(algorithms).join(", ")}`,
    ],
    [
      "a property of every object",
      "constructor",
      {},
      `there is no algorithm constructor; known: ${Object.keys(algorithms).join(", ")}`,
    ],
    [
      "an unknown option",
      "grpo",
      { sampels: 4 },
      "algorithm grpo: there is no option sampels; did you mean `samples`?",
    ],
    [
      "another row's option",
      "gspo",
      { alpha: 1 },
      "algorithm gspo: there is no option alpha; known: samples, standardise, clipLow, clipHigh, dualClip, kl, truncated, dynamicSampling, refills, overlong",
    ],
    [
      "a discount where nothing reaches back",
      "magrpo",
      { handOver: "best", discount: 0.9 },
      "algorithm magrpo: discount: no discount unless `handOver: all`: with best or random each turn earns its own reward",
    ],
    [
      "shaping of what is not made of rewards",
      "reinforce",
      { shaping: "margin", outcomeWeight: 1 },
      "algorithm reinforce: shaping: none unless `reward: action` or `reward: turns`: the episode's score is not made of single rewards; " +
        "outcomeWeight: 0 unless `reward: action` or `reward: turns`: the episode's score is not made of single rewards",
    ],
    [
      "α and γ where one number is the return",
      "mas-grpo",
      { alpha: 0.5, discount: 0.9 },
      "algorithm mas-grpo: alpha: 1 unless `reward: rewards`: the episode's score is not made of single rewards; " +
        "discount: 1 unless `reward: progress` or `reward: rewards`: other returns are one number, and no time passes in it",
    ],
    [
      "α where the score's changes are the reward",
      "magrpo",
      { alpha: 0.5 },
      "algorithm magrpo: alpha: 1 unless `reward: action`, `handOver: best` or a `terminationThreshold`: the episode's score is not made of single rewards",
    ],
    [
      "α of a critic's row, too",
      "iac",
      { alpha: 0.5 },
      "algorithm iac: alpha: 1 unless `reward: action`: the episode's score is not made of single rewards",
    ],
    [
      "γ of an action's own reward",
      "reinforce-plus-plus",
      { discount: 0.9 },
      "algorithm reinforce-plus-plus: discount: 1 unless `reward: turns` or `reward: progress`: other returns are one number, and no time passes in it",
    ],
    [
      "options of a KL that is not computed",
      "grpo",
      { kl: { coefficient: 0.04 } },
      "algorithm grpo: kl.coefficient: nothing here unless `kl` has `where: reward` or `where: loss`",
    ],
    [
      "a horizon without a target",
      "grpo",
      { kl: { where: "loss", horizon: 100 } },
      "algorithm grpo: kl.horizon: nothing here unless `kl` has a `target`: β stays as it is",
    ],
    [
      "k1 in the loss, given or by default",
      "ppo",
      { kl: { where: "loss" } },
      "algorithm ppo: kl.estimator: k2 or k3 with `where: loss`: the gradient of k1 has no reference in it, and holds nothing",
    ],
    [
      "a target for a β of 0",
      "grpo",
      { kl: { where: "reward", coefficient: 0, target: 0.1 } },
      "algorithm grpo: kl.coefficient: above 0 where there is a target: β is multiplied, and 0 stays 0",
    ],
    [
      "an estimator of KL that is off",
      "rloo",
      { kl: { where: "reward", coefficient: 0, estimator: "k1" } },
      "algorithm rloo: kl.estimator: nothing here where `kl` has the coefficient 0: it is off",
    ],
    [
      "a buffer longer than the length",
      "grpo",
      { overlong: { length: 4, buffer: 8 } },
      "algorithm grpo: overlong.buffer: at most `length`",
    ],
    [
      "a group of one",
      "at-grpo",
      { samples: 1 },
      "algorithm at-grpo: samples: Too small: expected number to be >=2",
    ],
  ])("refuses %s", (_, name, options, message) => {
    expect(() => algorithmFrom(name, options)).toThrowError(
      expect.objectContaining({ code: "bad_recipe", message }),
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

  it("points at the lines where the functions are declared", () => {
    const references = [...page.matchAll(/\[`(\w+)`\]\(\.\.\/(src\/[^)#]+)#L\d+\)/g)];
    const right = references.map(([, name = "", file = ""]) => {
      const lines = readFileSync(new URL(`../../${file}`, import.meta.url), "utf8").split("\n");
      const declared = lines.findIndex((line) =>
        new RegExp(`\\b(function|const|interface) ${name}\\b`).test(line),
      );
      return `[\`${name}\`](../${file}#L${declared + 1})`;
    });
    expect(references.length).toBeGreaterThan(10);
    expect(references.map(([reference]) => reference)).toEqual(right);
  });

  it("shows a right recipe line for every row", () => {
    const lines = page.match(/^algorithm: .*$/gm) ?? [];
    const made = lines.map((line) => {
      const { name, ...options } = (parse(line) as { algorithm: { name: string } }).algorithm;
      return algorithmFrom(name, options).name;
    });
    expect(new Set(made)).toEqual(new Set(Object.keys(algorithms)));
  });

  it("has every row of the table and every option", () => {
    const rows = Object.entries(algorithms);
    const words = rows.flatMap(([name, row]) => [name, ...Object.keys(row.options.shape)]);
    expect(words.filter((word) => !new RegExp(`\`${word}[\`:]`).test(page))).toEqual([]);
  });
});
