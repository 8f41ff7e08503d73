/** Returns computed by hand: sums of rewards, and changes of the score. */
import { describe, expect, it } from "vitest";
import type { Action } from "../rollout/episode.ts";
import type { CreditedAction } from "./algorithm.ts";
import { algorithmFrom } from "./algorithms.ts";
import { credit } from "./credit.ts";
import { progressAlong } from "./returns.ts";
import { action, episodeFrom, trajectories, type TreeSketch } from "./testing.ts";

const paid = (role: string, turn: number, team: number, frozen = false) =>
  action({ role, turn, team, local: 0.25, frozen });

/** Returns and advantages, action by action. */
const shown = (credited: readonly (readonly (number | null)[])[]) =>
  credited.map((one) => one.join(" ")).join(", ");

describe("the sum of a trajectory's rewards instead of its score", () => {
  /** Rewards with local ones: 1 + .5 + .5 = 2, and .25 + .25 = .5. The scores point the other way. */
  const begun = [paid("scout", 0, 0.75), paid("planner", 0, 0.25), paid("judge", 0, 9, true)];
  const episode = trajectories(0, [
    { actions: [...begun, paid("scout", 1, 0.25)], score: 0 },
    { actions: [paid("scout", 0, 0), paid("planner", 0, 0)], score: 1 },
  ]);

  it("leaves out what must not be trained on, for a role alone as for the team", () => {
    const lost = { ...paid("scout", 1, 0.5, true), masked: "the program did not get the answer" };
    const calls = trajectories(0, [
      { actions: [paid("scout", 0, 0.5), lost], score: 0 },
      { actions: [paid("scout", 0, 0)], score: 0 },
    ]);
    for (const name of ["mas-grpo", "grpo"]) {
      const returns = credit([calls], algorithmFrom(name, { reward: "rewards" })).map((one) => one.return);
      expect(returns).toEqual([0.75, null, 0.25]);
    }
  });

  const creditOf = (name: string, options: object) =>
    credit([episode], algorithmFrom(name, { reward: "rewards", ...options }))
      .filter(({ action: { frozen } }) => !frozen)
      .map((one) => [one.return, one.advantage]);
  const all = "2 0.75, 2 0.75, 2 0.75, 0.5 -0.75, 0.5 -0.75";

  it("is the same for every trained role's action on the trajectory", () => {
    expect(shown(creditOf("dr-grpo", {}))).toBe(all);
    expect(shown(creditOf("grpo", { standardise: false }))).toBe(all);
    expect(shown(creditOf("gspo", { standardise: false }))).toBe(all);
    expect(creditOf("rloo", {})[0]).toEqual([2, 1.5]);
  });

  it("includes penalties for length", () => {
    const overlong = { length: 2, buffer: 1, penalty: 0.1 };
    const [first] = creditOf("dr-grpo", { overlong })[0] ?? [];
    expect(first).toBeCloseTo(2 - 3 * 0.1, 15);
  });
});

const said = (role: string, turn: number, team: number) => action({ role, policy: role, turn, team });

const dialogue = (score: number, teams: readonly number[]) => ({
  actions: teams.map((team, at) => said(at % 2 === 0 ? "writer" : "critic", Math.floor(at / 2), team)),
  score,
});

describe("whole trajectories compared turn by turn", () => {
  /** Two samples of a conversation in which two roles answer in turn, twice. Their scores are 1 and .25. */
  const episode = trajectories(0, [dialogue(1, [0.5, 0.25, 1, 0]), dialogue(0.25, [0, 0.25, 0.5, 0.25])]);
  const creditOf = (name: string, options: object) =>
    credit([episode], algorithmFrom(name, { samples: 2, handOver: "each", ...options })).map((one) => [
      one.return,
      one.advantage,
    ]);

  it("credits each role with the mean reward of its round and of later ones, minus the mean of the samples", () => {
    // Rounds earn .375 and .5, .125 and .375. R_0 = .375 + .5·.5 and .125 + .5·.375; their mean is .46875.
    const expected = "0.625 0.15625, 0.625 0.15625, 0.5 0.0625, 0.5 0.0625, ";
    const other = "0.3125 -0.15625, 0.3125 -0.15625, 0.375 -0.0625, 0.375 -0.0625";
    expect(shown(creditOf("magrpo", { reward: "action", discount: 0.5 }))).toBe(expected + other);
    expect(creditOf("marloo", { reward: "action", discount: 0.5 })[0]).toEqual([0.625, 0.3125]);
    expect(creditOf("maremax", { reward: "action", discount: 0.5 }).slice(3, 5)).toEqual([
      [0.5, 0],
      [0.3125, -0.3125],
    ]);
  });

  it("by default with the change of the score", () => {
    // The score changes in the second round only: R_0 = .5·1 and .5·.25.
    const expected = "0.5 0.1875, 0.5 0.1875, 1 0.375, 1 0.375, ";
    const other = "0.125 -0.1875, 0.125 -0.1875, 0.25 -0.375, 0.25 -0.375";
    expect(shown(creditOf("magrpo", { discount: 0.5 }))).toBe(expected + other);
  });
});

it("discounts a role that a program asks for the first time like what was asked before, not like an early turn", () => {
  const actions = [
    ...[0, 1, 2].map((turn) => action({ role: "writer", turn })),
    action({ role: "critic", turn: 0 }),
  ];
  const episode = trajectories(0, [{ actions, score: 1 }]);
  const returns = (name: string) =>
    credit([episode], algorithmFrom(name, { reward: "progress", discount: 0.5 }), { values: zeros });
  expect(returns("ppo").map((one) => one.return)).toEqual([0, 0, 1, 1]);
  expect(returns("mas-grpo").map((one) => one.return)).toEqual([0.25, 0.25, 0.25, 0.25]);
  const maac = algorithmFrom("maac", { discount: 0.5, lambda: 1, whiten: false });
  const central = credit([episode], maac, { values: zeros });
  expect(central.map((one) => one.advantage)).toEqual([0.25, 0.5, 1, 1]);
});

const did = (role: string, turn: number, phase = 0, sample = 0) => {
  return { role, turn, phase, sample, frozen: false, team: 1 - sample / 4, local: 0.5, logprobs: [-1] };
};

/** Two simultaneous roles; their rewards are noise. */
const both = (turn: number, sample: number) => [did("left", turn, 0, sample), did("right", turn, 0, sample)];

const leaf = (sample: number, score: number): TreeSketch => {
  return { actions: both(1, sample), children: [], kept: true, score };
};

const branch = (sample: number, reached: number, [left, right]: readonly [number, number]): TreeSketch => {
  return { actions: both(0, sample), children: [leaf(0, left), leaf(1, right)], kept: true, reached };
};

const byNode = ({ node, action: { role } }: CreditedAction) => `${node.id} ${role}`;

const zeros = ({ tokens }: Action): Float32Array => new Float32Array(tokens.length);

describe("progress by hand", () => {
  // The score: .125 at the start, .5 or .25 after the first turn, as given after the second.
  const sketch = { reached: 0.125, children: [branch(0, 0.5, [0.25, 1]), branch(1, 0.25, [0.25, 0.5])] };
  const { episode } = episodeFrom(0, sketch);
  const returns = (name: string, options: Readonly<Record<string, unknown>>) =>
    Object.fromEntries(
      credit([episode], algorithmFrom(name, options)).map((one) => [byNode(one), one.return]),
    );

  it("in a tree: the turn's change plus the mean of the next ones", () => {
    // 0: .375 + mean(−.25, .5); 1: .125 + mean(0, .25)
    const whole = returns("mareinforce", { samples: 2 });
    expect(whole).toMatchObject({ "0 left": 0.5, "0 right": 0.5, "1 left": 0.25, "1 right": 0.25 });
    expect(whole).toMatchObject({ "0.0 left": -0.25, "0.1 left": 0.5, "1.0 left": 0, "1.1 left": 0.25 });
    // 0: .375 + .5·.125; 1: .125 + .5·.125
    const discounted = returns("mareinforce", { samples: 2, discount: 0.5 });
    expect(discounted).toMatchObject({ "0 left": 0.4375, "1 left": 0.1875, "0.0 left": -0.25 });
  });

  it("if one joint action is continued, its own change if requested, otherwise the actions' rewards", () => {
    const kept = returns("mareinforce", { samples: 2, handOver: "best", reward: "progress" });
    expect(kept).toMatchObject({ "0 left": 0.375, "1 left": 0.125, "0.1 right": 0.5 });
    expect(returns("mareinforce", { samples: 2, handOver: "best" })).toMatchObject({ "0 left": 1.5 });
  });
});

describe("progress by hand on a trajectory", () => {
  // scout, planner, scout, planner: 0 → 0 → .75 → .75 → .25
  const last = { actions: [did("planner", 1, 1)], children: [], kept: true, score: 0.25 };
  const third = { actions: [did("scout", 1, 0)], children: [last], kept: true, reached: 0.75 };
  const second = { actions: [did("planner", 0, 1)], children: [third], kept: true, reached: 0.75 };
  const top = { actions: [did("scout", 0, 0)], children: [second], kept: true };
  const { episode } = episodeFrom(0, { children: [top] });

  it.each([
    ["ppo", { reward: "progress" }, [0.75, 0.75, -0.5, -0.5]],
    ["iac", {}, [0.75, 0.75, -0.5, -0.5]],
    ["maac", {}, [0, 0.75, 0, -0.5]],
    ["reinforce", { reward: "progress" }, [0.25, 0.25, -0.5, -0.5]],
    ["reinforce", { reward: "progress", discount: 0.5 }, [0.5, 0.5, -0.5, -0.5]],
    ["mas-grpo", { reward: "progress" }, [0.25, 0.25, 0.25, 0.25]],
    ["mas-grpo", { reward: "progress", discount: 0.5 }, [0.5, 0.5, 0.5, 0.5]],
  ])("%s %j", (name, options, expected) => {
    const credited = credit([episode], algorithmFrom(name, { ...options }), { values: zeros });
    expect(credited.map((found) => found.return)).toEqual(expected);
  });

  const freeze = (frozen: string, { actions = [], children, ...rest }: TreeSketch): TreeSketch => ({
    ...rest,
    actions: actions.map((one) => ({ ...one, frozen: one.role === frozen })),
    children: children.map((child) => freeze(frozen, child)),
  });

  // The frozen planner's change of the score results from the scout's action, until the scout acts again.
  it.each([
    ["maac", {}, "planner", [0.75, -0.5]],
    ["iac", {}, "planner", [0.75, -0.5]],
    ["maac", {}, "scout", [0.75, -0.5]],
    ["maac", { discount: 0.5 }, "scout", [0.75, -0.5]],
  ])("%s %j reaches past a frozen %s", (name, options, frozen, expected) => {
    const line = episodeFrom(0, freeze(frozen, { children: [top] })).episode;
    const credited = credit([line], algorithmFrom(name, options), { values: zeros });
    const live = credited.filter((one) => !one.action.frozen);
    expect(live.map((found) => found.return)).toEqual(expected);
  });

  it("maac discounts what a frozen role changes in a later turn, and stops when a trained role acts", () => {
    const end = { actions: [did("planner", 2)], children: [], kept: true, score: 1 };
    const other = { actions: [did("editor", 1, 1)], children: [end], kept: true, reached: 0.5 };
    const frozen = { actions: [{ ...did("planner", 1), frozen: true }], children: [other], kept: true };
    const begin = { actions: [did("scout", 0)], children: [{ ...frozen, reached: 0.75 }], kept: true };
    const line = episodeFrom(0, { children: [{ ...begin, reached: 0.25 }] }).episode;
    const credited = credit([line], algorithmFrom("maac", { discount: 0.5 }), { values: zeros });
    const returns = Object.fromEntries(credited.map((found) => [byNode(found), found.return]));
    // scout: .25 + .5·.5; editor: −.25; planner in the third turn: .5
    expect(returns).toMatchObject({ "0 scout": 0.5, "0.0.0 editor": -0.25, "0.0.0.0 planner": 0.5 });
  });

  it("needs the score of every node", () => {
    const nodes = episode.nodes.map(({ id, parent, actions }) => {
      return { id, parent, actions, state: {}, turn: 0, phase: 0, observations: {}, done: false, kept: true };
    });
    const line = nodes.slice(1, 2);
    expect(() => progressAlong({ ...episode, nodes }, line, 1)).toThrow(
      "progress needs the score of every node",
    );
  });
});
