import { describe, expect, it } from "vitest";
import { algorithmFrom, algorithms } from "../../../credit/algorithms.ts";
import { shown } from "../../fixtures/catalog.ts";
import type { OptionSetting } from "./idle-options.ts";
import { optionProblems } from "./idle-options.ts";

const twoTurns = { team: { phases: [["scout"], ["planner"]], turns: 2 } };
const oneTurn = { team: { ...twoTurns.team, turns: 1 } };
const atOnce = { team: { phases: [["scout", "planner"]], turns: 1 } };
const alone = { team: { phases: [["planner"]], turns: 3 } };
const updates = (minibatches: number, epochs: number) => ({ train: { minibatches, epochs } });
const tokens = { train: { ...updates(2, 1).train, tokensPerStep: 1000 } };

type Place = Partial<Pick<OptionSetting, "team" | "train">>;
type Options = Readonly<Record<string, unknown>>;

/** The mistakes about options without effect, as an error shows them. */
function idle(name: string, given: Options, place: Place): string[] {
  const row = algorithms[name];
  if (row === undefined) throw new Error(`no row ${name}`);
  const options = { ...row.options.parse(given) };
  const setting = { algorithm: algorithmFrom(name, given), options, ...twoTurns, ...updates(2, 1), ...place };
  return shown(optionProblems(row, setting));
}

/** A row with options of which one has no effect in a place, what is said of it, and a change that gives it one. */
type Case = readonly [
  row: string,
  option: string,
  given: Options,
  place: Place,
  says: RegExp,
  works: Place | Options,
];

const onceClipped: readonly Case[] = ["clipLow", "clipHigh", "dualClip"].map((option) => [
  option === "dualClip" ? "ppo" : "gspo",
  option,
  { [option]: option === "dualClip" ? 3 : 0.1 },
  updates(1, 1),
  /one update per step; set train\.minibatches or train\.epochs/,
  updates(1, 2),
]);
const undiscounted: readonly Case[] = [
  ["ppo", {}] as const,
  ["iac", {}] as const,
  ["mas-grpo", { reward: "rewards" }] as const,
  ["reinforce", { reward: "turns" }] as const,
  ["magrpo", {}] as const,
].map(([row, given]) => [
  row,
  "discount",
  { ...given, discount: 0.9 },
  oneTurn,
  /counts turns, but the team has one turn; remove it, or set team\.turns/,
  twoTurns,
]);

// oxfmt-ignore
const cases: readonly Case[] = [
  ["at-grpo", "refills", { refills: 5 }, {}, /add `dynamicSampling: true`/, { dynamicSampling: true }],
  ["magrpo", "refills", { refills: 5, dynamicSampling: true }, tokens, /train\.tokensPerStep already/, updates(2, 1)],
  ["mas-grpo", "shapingWeight", { reward: "rewards", shapingWeight: 1 }, {}, /add `shaping: margin` or/, { shaping: "margin" }],
  ["at-grpo", "shapingWeight", { shaping: "quality", shapingWeight: 0 }, {}, /weight 0 changes/, { shapingWeight: 0.1 }],
  ["reinforce-plus-plus", "shaping", { shaping: "margin" }, atOnce, /episode is one phase of one turn/, oneTurn],
  ...onceClipped,
  ["ppo", "valueClip", { valueClip: 0.2 }, updates(1, 4), /algorithm\.criticEpochs or train\.minibatches/, { criticEpochs: 2 }],
  ["ppo", "critic", { critic: "central" }, alone, /team has one role; use `critic: role`/, oneTurn],
  ...undiscounted,
  ["reinforce", "decay", { decay: 0.9 }, {}, /add `baseline: moving`/, { baseline: "moving" }],
  ["c3", "first", { first: 4 }, {}, /as many alternatives as the others/, { first: 2 }],
  ["c3", "continued", { continued: "tree" }, atOnce, /episode is one phase of one turn/, oneTurn],
  ["iac", "lambda", { lambda: 0.9 }, oneTurn, /spans .* but the team has one turn/, twoTurns],
  ["maac", "lambda", { lambda: 0.9 }, atOnce, /spans .* but an episode is one phase of one turn/, oneTurn],
  ["at-grpo", "keep", { keep: "first" }, atOnce, /where the next phase continues/, oneTurn],
  ["magrpo", "handOver", { handOver: "best" }, atOnce, /where the next phase continues/, twoTurns],
  ["mareinforce", "handOver", { handOver: "random", samples: 1 }, {}, /one joint action to continue/, { samples: 2 }],
  ["mareinforce", "joint", { joint: "cross", samples: 1 }, atOnce, /only one joint action/, { samples: 2 }],
  ["magrpo", "joint", { joint: "cross", handOver: "each" }, twoTurns, /part of one trajectory/, { handOver: "all" }],
  ["marloo", "terminationThreshold", { terminationThreshold: 1 }, oneTurn, /but the team has one turn/, twoTurns],
  ["magrpo", "terminationThreshold", { terminationThreshold: -0.2 }, {}, /use 0 or more/, { terminationThreshold: 0 }],
  ["magrpo", "terminationThreshold", { terminationThreshold: 1.5, alpha: 0.5 }, {}, /at most 1\.5; use less than 1\.5/, { terminationThreshold: 1.4 }],
  ["maremax", "earlyEndWeight", { earlyEndWeight: 2 }, {}, /only a `terminationThreshold`/, { terminationThreshold: 1 }],
  ["magrpo", "discount", { handOver: "best", discount: 0.9 }, {}, /`handOver: best`.*; use `handOver: all` or `each`/, { handOver: "all" }],
  ["mas-grpo", "discount", { reward: "outcome", discount: 0.9 }, {}, /`reward: outcome`.*; use `reward: progress` or `reward: rewards`, or/, { reward: "progress" }],
  ["reinforce-plus-plus", "discount", { reward: "action", discount: 0.9 }, {}, /`reward: action`.*; use `reward: turns` or `reward: progress`, or/, { reward: "progress" }],
  ["reinforce", "alpha", { alpha: 0.5 }, {}, /`reward: outcome`.*; use `reward: action` or `reward: turns` or `reward: rewards`,/, { reward: "turns" }],
  ["iac", "alpha", { alpha: 0.5 }, {}, /`reward: progress`.*; use `reward: action`, or/, { reward: "action" }],
  ["magrpo", "alpha", { alpha: 0.5 }, {}, /use `reward: action` or `handOver: best` or a `terminationThreshold`/, { handOver: "random" }],
  ["marloo", "alpha", { handOver: "random", reward: "progress", alpha: 0.5 }, {}, /`reward: progress` it has no/, { handOver: "all", reward: undefined, terminationThreshold: 1 }],
  ["ppo", "outcomeWeight", { outcomeWeight: 1 }, {}, /`reward: outcome`.*; use `reward: action`/, { reward: "action" }],
  ["mas-grpo", "shaping", { shaping: "margin" }, {}, /`reward: outcome`.*; use `reward: rewards`, or/, { reward: "rewards" }],
];

/** Options that always have an effect, or are rejected elsewhere: the schema, `algorithmProblems`, `klOptions`. */
const active =
  "samples reward baseline standardise whiten aggregation kl entropy truncated dynamicSampling downSample overlong turnWeights criticLearningRate criticEpochs".split(
    " ",
  );

describe("optionProblems", () => {
  it.each(cases)("rejects %s: %s in %j", (row, option, given, place, says, works) => {
    const found = idle(row, given, place);
    expect(found).toHaveLength(1);
    expect(found[0]).toMatch(new RegExp(`^algorithm\\.${option}: `));
    expect(found[0]).toMatch(says);
    const isPlace = "team" in works || "train" in works;
    expect(idle(row, isPlace ? given : { ...given, ...works }, isPlace ? (works as Place) : place)).toEqual(
      [],
    );
  });

  it("covers every option of every row", () => {
    const all = Object.values(algorithms).flatMap((row) => Object.keys(row.options.shape));
    expect(new Set(all)).toEqual(new Set([...active, ...cases.map(([, option]) => option)]));
  });

  it.each(Object.keys(algorithms))("leaves the defaults of %s alone, written out or not", (name) => {
    const place = { team: { ...alone.team, turns: 1 }, train: { ...tokens.train, minibatches: 1 } };
    expect(idle(name, { ...algorithms[name]?.options.parse({}) }, place)).toEqual([]);
  });

  it("accepts a discount of 1 if γ has no effect", () => {
    expect(idle("magrpo", { discount: 1 }, oneTurn)).toEqual([]);
  });
});
