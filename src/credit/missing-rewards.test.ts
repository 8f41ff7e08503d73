/** An action without a reward trains nothing, and changes nothing for the others. */
import { readFileSync } from "node:fs";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Action, Episode } from "../rollout/episode.ts";
import type { CreditedAction, Signals } from "./algorithm.ts";
import { algorithmFrom } from "./algorithms.ts";
import { credit } from "./credit.ts";
import { toData } from "./data.ts";
import { criticData } from "./critics.ts";
import { hasZeroVariance } from "./selection.ts";
import { action, decision, episodeFrom, trajectories, type TreeSketch } from "./testing.ts";

const values = ({ tokens }: Action): Float32Array => new Float32Array(tokens.length);
const unrewarded = action({ reward: null });
const returns = (credited: readonly CreditedAction[]) => credited.map((one) => one.return);

/** The same episode without the rewards of some edges, by the number of the action. */
function without(episode: Episode, isTaken: (action: string) => boolean): Episode {
  const nodes = episode.nodes.map((node) => ({
    ...node,
    actions: node.actions.map((one) => (isTaken(one.action) ? { ...one, reward: null } : one)),
  }));
  return { ...episode, nodes };
}

describe("an action without a reward, in a group,", () => {
  const known = [action({ team: 0 }), action({ team: 0.5 }), action({ team: 1 })];

  it("does not affect the comparison of the others", () => {
    const algorithm = algorithmFrom("at-grpo");
    const given = decision(0, known.toSpliced(1, 0, unrewarded));
    const [first, missing, ...rest] = credit([given], algorithm);
    const alone = credit([decision(0, known)], algorithm);
    expect([first, ...rest].map((one) => one?.advantage)).toEqual(alone.map(({ advantage }) => advantage));
    expect(missing?.return).toBeNull();
    expect(missing?.advantages).toEqual(new Float64Array(2));
  });

  it("is in no data and in no divisor, even with KL in the loss", () => {
    const kl = { kl: { where: "loss", coefficient: 0.1 } };
    const signals: Signals = { reference: values };
    const algorithm = algorithmFrom("at-grpo", kl);
    const data = (actions: readonly ReturnType<typeof action>[]) =>
      toData(credit([decision(0, actions)], algorithm, signals), algorithm, signals);
    expect(data([...known, unrewarded])).toEqual(data(known));
  });

  it("leaves nothing to compare if it is one of two, or the only one", () => {
    const algorithm = algorithmFrom("at-grpo");
    const half = decision(0, [unrewarded, action({ team: 1 })]);
    expect(credit([half], algorithm).map((one) => one.advantage)).toEqual([0, 0]);
    expect(hasZeroVariance(half, algorithm)).toBe(true);
    expect(hasZeroVariance(decision(0, [unrewarded, ...known]), algorithm)).toBe(false);
    expect(returns(credit([decision(0, [unrewarded, unrewarded])], algorithm))).toEqual([null, null]);
  });
});

describe("of a sum over later actions", () => {
  const actions = [0, 1, 2, 3].map((turn) =>
    action({ turn, team: 0.5, ...(turn === 2 ? { reward: null } : {}) }),
  );
  const episode = trajectories(0, [{ actions, score: 1 }]);
  const found = (name: string, options: object) =>
    returns(credit([episode], algorithmFrom(name, { ...options }), { values }));

  it.each([
    ["reinforce", { reward: "turns" }, [null, null, null, 0.5]],
    ["reinforce", { reward: "turns", discount: 0 }, [0.5, 0.5, null, 0.5]],
    ["reinforce", { reward: "action" }, [0.5, 0.5, null, 0.5]],
    ["reinforce", { reward: "action", shaping: "margin" }, [0.5, 0.5, null, null]],
    ["mas-grpo", { reward: "rewards" }, [null, null, null, null]],
    ["grpo", { reward: "rewards" }, [null, null, null, null]],
    ["mareinforce", { reward: "action" }, [null, null, null, 0.5]],
    ["mareinforce", { reward: "action", discount: 0 }, [0.5, 0.5, null, 0.5]],
  ])("the sum is missing as well: %s %j", (name, options, expected) => {
    expect(found(name, options)).toEqual(expected);
  });

  it.each([
    ["iac", { lambda: 0 }, [0.5, 0.5, null, 0.5]],
    ["iac", { lambda: 0.5 }, [null, null, null, 0.5]],
    ["maac", { lambda: 0.5 }, [null, null, null, 0.5]],
    ["ppo", { lambda: 0 }, [0.5, 0.5, null, 0.5]],
    ["ppo", { lambda: 0.5 }, [null, null, null, 0.5]],
  ])("an advantage that sums later rewards is missing too: %s %j", (name, options, expected) => {
    expect(found(name, { ...options, reward: "action", whiten: false })).toEqual(expected);
  });

  it.each([
    ["grpo", {}],
    ["ppo", {}],
    ["ppo", { reward: "progress" }],
    ["iac", {}],
    ["maac", {}],
    ["mareinforce", {}],
  ])("a return that does not depend on rewards is known: %s %j", (name, options) => {
    expect(found(name, options)).not.toContain(null);
  });

  it("a critic is not trained on a missing target", () => {
    const algorithm = algorithmFrom("iac", { reward: "action", lambda: 0.5, whiten: false });
    const data = criticData(credit([episode], algorithm, { values }), algorithm, { values });
    expect(data.flatMap(({ continuations }) => continuations)).toHaveLength(1);
    expect(data[0]?.continuations[0]?.targets).toEqual(Float32Array.of(0.5));
  });
});

describe("of a joint action", () => {
  const paid = { reward: "action", samples: 2 };

  it("one role's missing reward is missing for all that share it", () => {
    const { episode } = episodeFrom(0, { children: [both([0, 0]), both([1, 1])] });
    const lost = without(episode, (id) => id === "/right/0");
    expect(returns(credit([lost], algorithmFrom("magrpo", paid)))).toEqual([null, null, 0.5, 0.5]);
  });

  it("a frozen role's reward does not matter", () => {
    const { episode } = episodeFrom(0, { children: [both([0, 0]), both([1, 1])].map(frozen) });
    const lost = without(episode, (id) => id === "/right/0");
    const credited = credit([lost], algorithmFrom("magrpo", paid));
    expect(returns(credited.filter((one) => !one.action.frozen))).toEqual([0.5, 0.5]);
  });

  it("in cross mode the completions it contains have no return, the others keep theirs", () => {
    const pairs = [0, 1].flatMap((left) => [0, 1].map((right) => both([left, right])));
    const { episode } = episodeFrom(0, { children: pairs });
    const nodes = episode.nodes.map((node) =>
      node.id === "0" ? { ...node, actions: node.actions.map((one) => ({ ...one, reward: null })) } : node,
    );
    const credited = credit([{ ...episode, nodes }], algorithmFrom("magrpo", { ...paid, joint: "cross" }));
    const byId = Object.fromEntries(credited.map((one) => [one.action.id, one.return]));
    expect(byId).toEqual({ "/left/0": null, "/right/0": null, "/left/1": 0.5, "/right/1": 0.5 });
  });
});

/** Two simultaneous roles; each earns 0.5. */
function both(sample: readonly [number, number]): TreeSketch {
  const plain = { turn: 0, phase: 0, frozen: false, team: 0.5, local: 0, logprobs: [-1] };
  const actions = ["left", "right"].map((role, index) => ({ ...plain, role, sample: sample[index] ?? 0 }));
  return { actions, children: [], kept: true, score: 0 };
}

const frozen = ({ actions = [], ...rest }: TreeSketch): TreeSketch => ({
  ...rest,
  actions: actions.map((one) => ({ ...one, frozen: one.role === "right" })),
});

const place = ({ episode, action: { id } }: CreditedAction): string => `${episode.id} ${id}`;

const isFinite = (numbers: Float64Array = new Float64Array()): boolean =>
  numbers.every((value) => Number.isFinite(value));

interface Case {
  readonly algorithm: string;
  readonly options: Readonly<Record<string, unknown>>;
  readonly episodes: readonly TreeSketch[];
}

const file = new URL("../../tests/fixtures/credit/cases.json", import.meta.url);
const cases = JSON.parse(readFileSync(file, "utf8")) as readonly Case[];

describe.each(cases.map((one, index) => [index, one.algorithm, JSON.stringify(one.options), one] as const))(
  "case %i %s %s",
  (_index, _name, _options, { algorithm: name, options, episodes }) => {
    const algorithm = algorithmFrom(name, options);
    const sketched = episodes.map((sketch, task) => episodeFrom(task, sketch));
    const signals: Signals = {
      reference: ({ logprobs }) => logprobs.map((one) => one - 0.25),
      values: ({ tokens }) => new Float32Array(tokens.length).fill(0.25),
    };
    const played = sketched.map(({ episode }) => episode);
    const whole = credit(played, algorithm, signals);
    it("credits complete groups as before", () => {
      const before = new Map(whole.map((one) => [place(one), one]));
      const known = (one: CreditedAction) => before.get(place(one));
      const lost = fc.uniqueArray(fc.constantFrom(...before.keys()), { minLength: 1, maxLength: 4 });
      fc.assert(
        fc.property(lost, (taken) => {
          const rest = played.map((one) => without(one, (id) => taken.includes(`${one.id} ${id}`)));
          const now = credit(rest, algorithm, signals);
          const spoiled = new Set(now.filter((one) => one.return === null).map(({ group }) => group));

          const returned = now.filter((one) => one.return !== null);
          expect(returns(returned)).toEqual(returned.map((one) => known(one)?.return));
          const untouched = now.filter(({ group }) => !spoiled.has(group));
          expect(untouched.map(({ advantages }) => advantages)).toEqual(
            untouched.map((one) => known(one)?.advantages),
          );
          expect(now.every((one) => isFinite(one.advantages) && isFinite(one.valueTargets))).toBe(true);
        }),
        { numRuns: 10 },
      );
    });
  },
);
