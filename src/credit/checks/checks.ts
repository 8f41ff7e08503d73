/**
 * What every algorithm must pass, for any test runner:
 *
 * ```ts
 * for (const { name, run } of algorithmChecks(algorithm)) it(name, () => expect(run).not.toThrow());
 * ```
 *
 * Episodes are sampled with the algorithm's scheme and get random rewards. Not covered: whether it learns.
 */
import { isDeepStrictEqual } from "node:util";
import type { ActionReward } from "../../environments/environment.ts";
import type { Key } from "../../random.ts";
import { childKey, drawInt, generatorOf, rootKey, shuffled } from "../../random.ts";
import type { Episode } from "../../rollout/episode.ts";
import type { Algorithm, CreditedAction, Signals } from "../algorithm.ts";
import { credit } from "../credit.ts";
import { drawnEpisode, type Play } from "./episodes.ts";

export interface AlgorithmCheck {
  readonly name: string;
  /** @throws Error that says what is wrong. */
  readonly run: () => void;
}

export function algorithmChecks(algorithm: Algorithm, seed = 1): AlgorithmCheck[] {
  const key = rootKey(seed);
  return Object.entries(checks).map(([name, check]) => ({ name, run: () => check(algorithm, key) }));
}

type Check = (algorithm: Algorithm, key: Key) => void;

/** Number of lists, teams and steps drawn for each check. */
const draws = 20;
const tasks = 3;
/** A larger tree would show nothing new. */
const mostSamples = 4;
/** Standardising divides by at least 1e-6, which can turn rounding errors of 1e-16 into 1e-10. */
const rounding = 1e-7;

const checks: Readonly<Record<string, Check>> = {
  "the baseline has one finite number per return": baselines,
  "the scale is finite and positive": scales,
  "baseline and scale do not depend on the order of the returns": orderOfReturns,
  "the same episodes give the same credit": sameCredit,
  "episodes are never changed": unchanged,
  "every token gets a finite advantage": finite,
  "the order of the episodes does not matter": orderOfEpisodes,
  "equal rewards give the actions of a group equal advantages": equalRewards,
  "a return made of a missing reward is missing": missingRewards,
};

function returnsOf(key: Key): readonly (readonly number[])[] {
  const random = generatorOf(childKey(key, "returns"));
  const drawn = Array.from({ length: draws }, () =>
    Array.from({ length: 1 + drawInt(random, 8) }, () => drawInt(random, 9) / 8 - 0.5),
  );
  return [[0], [1, 1, 1], [0, 1], ...drawn];
}

function baselines({ baseline }: Algorithm, key: Key): void {
  for (const returns of returnsOf(key)) {
    const found = baseline(returns);
    const isRight = found.length === returns.length && found.every(Number.isFinite);
    if (!isRight) throw new Error(`the returns ${show(returns)} have the baseline ${show(found)}`);
  }
}

function scales({ scale }: Algorithm, key: Key): void {
  for (const returns of returnsOf(key)) {
    const found = scale(returns);
    if (!(Number.isFinite(found) && found > 0)) {
      throw new Error(`the scale of the returns ${show(returns)} is ${found}`);
    }
  }
}

function orderOfReturns({ baseline, scale }: Algorithm, key: Key): void {
  for (const [index, returns] of returnsOf(key).entries()) {
    const order = shuffled(generatorOf(childKey(key, index)), [...returns.keys()]);
    const mixed = order.map((at) => returns[at] ?? 0);
    const whole = baseline(returns);
    const expected = order.map((at) => whole[at] ?? 0);
    const isSame = near(baseline(mixed), expected) && near([scale(mixed)], [scale(returns)]);
    if (!isSame) throw new Error(`${show(returns)} and ${show(mixed)} give different baselines or scales`);
  }
}

/** Roles that act one after the other, and simultaneously. */
const teams = [[["first"], ["second"]], [["first", "second"]]];

interface Step {
  readonly play: Play;
  readonly episodes: readonly Episode[];
}

function stepsOf({ sampling }: Algorithm, key: Key, reward?: number): readonly Step[] {
  const { root, inner } = sampling.branch;
  const branch = { root: Math.min(root, mostSamples), inner: Math.min(inner, mostSamples) };
  return teams.map((phases) => {
    const play = { sampling: { ...sampling, branch }, phases, ...(reward === undefined ? {} : { reward }) };
    return { play, episodes: Array.from({ length: tasks }, (_, task) => drawnEpisode(play, task, key)) };
  });
}

/** A critic that always says 0, and a reference equal to the policy. */
function credited({ episodes }: Pick<Step, "episodes">, algorithm: Algorithm): readonly CreditedAction[] {
  const signals: Signals = {
    reference: ({ logprobs }) => logprobs,
    values: ({ tokens }) => new Float32Array(algorithm.critic?.at === "prompt" ? 1 : tokens.length),
  };
  const shortened = algorithm.turnWeights === null ? algorithm : { ...algorithm, turnWeights: [1, 1] };
  return credit(episodes, shortened, signals);
}

function sameCredit(algorithm: Algorithm, key: Key): void {
  for (const step of stepsOf(algorithm, key)) {
    const [first, second] = [credited(step, algorithm), credited(step, algorithm)];
    if (!isDeepStrictEqual(first.map(creditOf), second.map(creditOf))) {
      throw new Error(
        "two calls with the same episodes gave different credit; use no random numbers and keep no state",
      );
    }
  }
}

function unchanged(algorithm: Algorithm, key: Key): void {
  for (const step of stepsOf(algorithm, key)) {
    const before = structuredClone(step.episodes);
    credited(step, algorithm);
    if (!isDeepStrictEqual(step.episodes, before)) throw new Error("an episode was changed by credit");
  }
}

function finite(algorithm: Algorithm, key: Key): void {
  for (const step of stepsOf(algorithm, key)) {
    for (const one of credited(step, algorithm)) {
      const { action, advantages } = one;
      const isRight = advantages.length === action.tokens.length && advantages.every(Number.isFinite);
      if (one.return !== null && isRight) continue;
      throw new Error(
        `an action of ${action.tokens.length} tokens with the return ${one.return} got the advantages ${show([...advantages])}`,
      );
    }
  }
}

/** A baseline that moves along a run depends on the order. */
function orderOfEpisodes(algorithm: Algorithm, key: Key): void {
  if (algorithm.grouping.spans === "run") return;
  for (const { episodes } of stepsOf(algorithm, key)) {
    const forward = byAction(credited({ episodes }, algorithm));
    const backward = byAction(credited({ episodes: episodes.toReversed() }, algorithm));
    for (const [action, advantage] of forward) {
      if (near([advantage], [backward.get(action) ?? Number.NaN])) continue;
      const hint = algorithm.grouping.spans === "batch" ? "; does `sampleKey` contain the episode?" : "";
      throw new Error(
        `an action got ${advantage}, but ${backward.get(action)} when the episodes were reversed${hint}`,
      );
    }
  }
}

function equalRewards(algorithm: Algorithm, key: Key): void {
  for (const step of stepsOf(algorithm, key, 0.5)) {
    const groups = Map.groupBy(
      credited(step, algorithm),
      ({ group, action }) => `${group} ${action.turn} ${action.role}`,
    );
    for (const members of groups.values()) {
      const [first = 0, ...others] = members.map(({ advantages }) => advantages[0] ?? 0);
      if (others.every((other) => near([other], [first]))) continue;
      throw new Error(`actions with equal rewards got the advantages ${show([first, ...others])}`);
    }
  }
}

/** A return that depends on a reward is missing without it; any other is unchanged. */
function missingRewards(algorithm: Algorithm, key: Key): void {
  for (const { episodes } of stepsOf(algorithm, key)) {
    const drawn = drawInt(generatorOf(childKey(key, "missing")), (episodes[0]?.nodes.length ?? 2) - 1);
    const given = [0, 1, null].map((team) => {
      const reward = team === null ? null : { team, local: 0.5, parts: {} };
      return credited({ episodes: withReward(episodes, drawn + 1, reward) }, algorithm);
    });
    const [low = [], high = [], none = []] = given;
    for (const [index, one] of none.entries()) {
      const [least, most] = [low[index]?.return, high[index]?.return];
      const isRight = one.return === null || (least === most && one.return === least);
      if (isRight && one.advantages.every(Number.isFinite)) continue;
      throw new Error(
        `without a reward the return of an action is ${one.return}; with rewards of 0 and 1 it is ${least} and ${most}`,
      );
    }
  }
}

/** The first episode with a different reward for the first action that led to a node. */
function withReward(
  [first, ...others]: readonly Episode[],
  at: number,
  reward: ActionReward | null,
): readonly Episode[] {
  if (first === undefined) return others;
  const nodes = first.nodes.map((node, index) => {
    const [edge, ...rest] = node.actions;
    return index !== at || edge === undefined ? node : { ...node, actions: [{ ...edge, reward }, ...rest] };
  });
  return [{ ...first, nodes }, ...others];
}

function creditOf({ return: earned, advantages, weight, valueTargets }: CreditedAction): object {
  return { earned, advantages, weight, valueTargets };
}

function byAction(all: readonly CreditedAction[]): ReadonlyMap<string, number> {
  return new Map(all.map(({ episode, action, advantage }) => [`${episode.id} ${action.id}`, advantage]));
}

function near(found: readonly number[], expected: readonly number[]): boolean {
  return (
    found.length === expected.length &&
    found.every((value, index) => {
      const wanted = expected[index] ?? Number.NaN;
      return Math.abs(value - wanted) <= rounding * Math.max(1, Math.abs(wanted));
    })
  );
}

function show(numbers: readonly number[]): string {
  return `[${numbers.slice(0, 8).map(String).join(", ")}${numbers.length > 8 ? ", …" : ""}]`;
}
