import { describe, expect, it } from "vitest";
import { algorithmFrom, algorithms } from "../../../credit/algorithms.ts";
import type { OptionSetting } from "./idle-options.ts";
import { optionProblems } from "./idle-options.ts";

const twoTurns = { phases: [["scout"], ["planner"]], turns: 2 };
const oneTurn = { ...twoTurns, turns: 1 };
const atOnce = { phases: [["scout", "planner"]], turns: 1 };
const alone = { phases: [["planner"]], turns: 1 };
const oneUpdate = { minibatches: 1, epochs: 1 };
const twoUpdates = { minibatches: 2, epochs: 1 };

type Place = Partial<Pick<OptionSetting, "team" | "train">>;

/** The mistakes about options without effect, as an error shows them. */
function idle(name: string, given: Readonly<Record<string, unknown>>, place: Place): string[] {
  const row = algorithms[name];
  if (row === undefined) throw new Error(`no row ${name}`);
  const options = { ...row.options.parse(given) };
  const algorithm = algorithmFrom(name, given);
  const found = optionProblems(row, { algorithm, options, team: twoTurns, train: twoUpdates, ...place });
  return found.map(({ path, problem, fix }) => `${path.join(".")}: ${problem}; ${fix}`);
}

/** Row, option, value, a setting in which it has no effect, the message, and a change that gives it an effect. */
const cases: readonly {
  readonly row: string;
  readonly option: string;
  readonly given: Readonly<Record<string, unknown>>;
  readonly place?: Place;
  readonly says: RegExp;
  readonly works: { readonly given?: Readonly<Record<string, unknown>>; readonly place?: Place };
}[] = [
  {
    row: "at-grpo",
    option: "refills",
    given: { refills: 5 },
    says: /only dynamic sampling replaces tasks; add `dynamicSampling: true`, or remove it/,
    works: { given: { refills: 5, dynamicSampling: true } },
  },
  {
    row: "magrpo",
    option: "refills",
    given: { refills: 5, dynamicSampling: true },
    place: { train: { ...twoUpdates, tokensPerStep: 1000 } },
    says: /train\.tokensPerStep already sets/,
    works: { place: {} },
  },
  {
    row: "mas-grpo",
    option: "shapingWeight",
    given: { reward: "rewards", shapingWeight: 1 },
    says: /there is none; add `shaping: margin` or/,
    works: { given: { reward: "rewards", shaping: "margin", shapingWeight: 1 } },
  },
  {
    row: "at-grpo",
    option: "shapingWeight",
    given: { shaping: "quality", shapingWeight: 0 },
    says: /weight 0 changes no reward/,
    works: { given: { shaping: "quality", shapingWeight: 0.1 } },
  },
  {
    row: "reinforce-plus-plus",
    option: "shaping",
    given: { shaping: "margin" },
    place: { team: atOnce },
    says: /compares with earlier actions, but an episode is one phase of one turn/,
    works: { place: { team: oneTurn } },
  },
  ...["clipLow", "clipHigh", "dualClip"].map((option) => ({
    row: option === "dualClip" ? "ppo" : "gspo",
    option,
    given: { [option]: option === "dualClip" ? 3 : 0.1 },
    place: { train: oneUpdate },
    says: /one update per step; set train\.minibatches or train\.epochs to 2 or more/,
    works: { place: { train: { minibatches: 1, epochs: 2 } } },
  })),
  {
    row: "ppo",
    option: "valueClip",
    given: { valueClip: 0.2 },
    place: { train: { minibatches: 1, epochs: 4 } },
    says: /one update per step; set algorithm\.criticEpochs or train\.minibatches/,
    works: { given: { valueClip: 0.2, criticEpochs: 2 } },
  },
  {
    row: "ppo",
    option: "critic",
    given: { critic: "central" },
    place: { team: { ...alone, turns: 3 } },
    says: /the team has one role; use `critic: role`/,
    works: { place: { team: oneTurn } },
  },
  ...[
    { row: "ppo", given: {} },
    { row: "iac", given: {} },
    { row: "mas-grpo", given: { reward: "rewards" } },
    { row: "reinforce", given: { reward: "turns" } },
    { row: "magrpo", given: {} },
  ].map(({ row, given }) => ({
    row,
    option: "discount",
    given: { ...given, discount: 0.9 },
    place: { team: oneTurn },
    says: /it counts turns, but the team has one turn; remove it, or set team\.turns to 2 or more/,
    works: { place: { team: twoTurns } },
  })),
  {
    row: "reinforce",
    option: "decay",
    given: { decay: 0.9 },
    says: /only a moving baseline decays; add `baseline: moving`, or remove it/,
    works: { given: { baseline: "moving", decay: 0.9 } },
  },
  {
    row: "c3",
    option: "first",
    given: { first: 4 },
    says: /as many alternatives as the others anyway/,
    works: { given: { first: 2 } },
  },
  {
    row: "c3",
    option: "continued",
    given: { continued: "tree" },
    place: { team: atOnce },
    says: /how alternatives are continued, but an episode is one phase of one turn/,
    works: { place: { team: oneTurn } },
  },
  {
    row: "iac",
    option: "lambda",
    given: { lambda: 0.9 },
    place: { team: oneTurn },
    says: /spans the actions of an episode, but the team has one turn/,
    works: { place: { team: twoTurns } },
  },
  {
    row: "maac",
    option: "lambda",
    given: { lambda: 0.9 },
    place: { team: atOnce },
    says: /spans the actions of an episode, but an episode is one phase of one turn/,
    works: { place: { team: oneTurn } },
  },
  {
    row: "at-grpo",
    option: "keep",
    given: { keep: "first" },
    place: { team: atOnce },
    says: /it selects where the next phase continues/,
    works: { place: { team: oneTurn } },
  },
  {
    row: "magrpo",
    option: "handOver",
    given: { handOver: "best" },
    place: { team: atOnce },
    says: /it selects where the next phase continues/,
    works: { place: { team: twoTurns } },
  },
  {
    row: "mareinforce",
    option: "handOver",
    given: { handOver: "random", samples: 1 },
    says: /one joint action to continue from/,
    works: { given: { handOver: "random", samples: 2 } },
  },
  {
    row: "mareinforce",
    option: "joint",
    given: { joint: "cross", samples: 1 },
    place: { team: atOnce },
    says: /only one joint action/,
    works: { given: { joint: "cross", samples: 2 } },
  },
  {
    row: "magrpo",
    option: "joint",
    given: { joint: "cross", handOver: "each" },
    place: { team: twoTurns },
    says: /part of one trajectory/,
    works: { given: { joint: "cross", handOver: "all" } },
  },
  {
    row: "marloo",
    option: "terminationThreshold",
    given: { terminationThreshold: 1 },
    place: { team: oneTurn },
    says: /ends an episode before its last turn, but the team has one turn/,
    works: { place: { team: twoTurns } },
  },
  {
    row: "magrpo",
    option: "terminationThreshold",
    given: { terminationThreshold: -0.2 },
    says: /the first turn would always be the last; use 0 or more/,
    works: { given: { terminationThreshold: 0 } },
  },
  {
    row: "magrpo",
    option: "terminationThreshold",
    given: { terminationThreshold: 1.5, alpha: 0.5 },
    says: /α·team \+ local is at most 1\.5; use less than 1\.5, or remove it/,
    works: { given: { terminationThreshold: 1.4, alpha: 0.5 } },
  },
  {
    row: "maremax",
    option: "earlyEndWeight",
    given: { earlyEndWeight: 2 },
    says: /only a `terminationThreshold` ends an episode early; add one, or remove it/,
    works: { given: { earlyEndWeight: 2, terminationThreshold: 1 } },
  },
  {
    row: "magrpo",
    option: "discount",
    given: { handOver: "best", discount: 0.9 },
    says: /with `handOver: best` it has no effect: each turn has its own reward; use `handOver: all` or `each`/,
    works: { given: { discount: 0.9 } },
  },
  ...["mas-grpo", "reinforce-plus-plus"].map((row) => ({
    row,
    option: "discount",
    given: { reward: row === "mas-grpo" ? "outcome" : "action", discount: 0.9 },
    says:
      row === "mas-grpo"
        ? /`reward: outcome` it has no effect: it is one number without time steps; use `reward: progress` or `reward: rewards`, or remove it/
        : /`reward: action` it has no effect: .*; use `reward: turns` or `reward: progress`, or remove it/,
    works: { given: { reward: "progress", discount: 0.9 } },
  })),
  {
    row: "reinforce",
    option: "alpha",
    given: { alpha: 0.5 },
    says: /`reward: outcome` it has no effect: the episode's score does not depend on .*; use `reward: action` or `reward: turns` or `reward: rewards`,/,
    works: { given: { reward: "turns", alpha: 0.5 } },
  },
  {
    row: "iac",
    option: "alpha",
    given: { alpha: 0.5 },
    says: /`reward: progress` it has no effect: .*; use `reward: action`, or remove it/,
    works: { given: { reward: "action", alpha: 0.5 } },
  },
  {
    row: "magrpo",
    option: "alpha",
    given: { alpha: 0.5 },
    says: /it has no effect: the episode's score .*; use `reward: action` or `handOver: best` or a `terminationThreshold`/,
    works: { given: { handOver: "random", alpha: 0.5 } },
  },
  {
    row: "marloo",
    option: "alpha",
    given: { handOver: "random", reward: "progress", alpha: 0.5 },
    says: /`reward: progress` it has no effect/,
    works: { given: { terminationThreshold: 1, alpha: 0.5 } },
  },
  {
    row: "ppo",
    option: "outcomeWeight",
    given: { outcomeWeight: 1 },
    says: /`reward: outcome` it has no effect: it is added to the rewards of single actions; use `reward: action`/,
    works: { given: { reward: "action", outcomeWeight: 1 } },
  },
  {
    row: "mas-grpo",
    option: "shaping",
    given: { shaping: "margin" },
    says: /`reward: outcome` it has no effect: .*; use `reward: rewards`, or remove it/,
    works: { given: { reward: "rewards", shaping: "margin" } },
  },
];

/** Options that always have an effect, or are rejected elsewhere: the schema, `algorithmProblems`, `klOptions`. */
const active =
  "samples reward baseline standardise whiten aggregation kl entropy truncated dynamicSampling downSample overlong turnWeights criticLearningRate criticEpochs".split(
    " ",
  );

describe("optionProblems", () => {
  it.each(cases)("rejects $row $given", ({ row, option, given, place = {}, says, works }) => {
    const found = idle(row, given, place);
    expect(found).toHaveLength(1);
    expect(found[0]).toMatch(new RegExp(`^algorithm\\.${option}: `));
    expect(found[0]).toMatch(says);
    expect(idle(row, works.given ?? given, works.place ?? place)).toEqual([]);
  });

  it("covers every option of every row", () => {
    const all = Object.values(algorithms).flatMap((row) => Object.keys(row.options.shape));
    const judged = [...active, ...cases.map(({ option }) => option)];
    expect(new Set(all)).toEqual(new Set(judged));
  });

  it.each(Object.keys(algorithms))("leaves the defaults of %s alone, written out or not", (name) => {
    const place = { team: alone, train: { ...oneUpdate, tokensPerStep: 1000 } };
    const defaults = algorithms[name]?.options.parse({});
    expect(idle(name, { ...defaults }, place)).toEqual([]);
  });

  it("accepts a discount of 1 if γ has no effect", () => {
    expect(idle("magrpo", { discount: 1 }, { team: oneTurn })).toEqual([]);
  });
});
