/**
 * Baselines b and scales F of A = (R − b) / F. Both get the returns of one group, one per sample: a baseline gives one number
 * for each, in the same order, a scale gives one for all. Both are in units of the reward, except F = 1.
 */
import { areEqual } from "../statistics.ts";
import type { Algorithm, Baseline } from "./algorithm.ts";

/** b = 0 (REINFORCE with its reinforcement baseline left out, Williams 1992, sec. 4; MAREINFORCE in CoMLRL v1.3.2). */
export function noBaseline(returns: readonly number[]): readonly number[] {
  return returns.map(() => 0);
}

/**
 * b = mean of the group (GRPO, arXiv 2402.03300, sec. 4.1.2; MAGRPO, arXiv 2508.04652, algorithm 1). Equal returns give
 * exactly their value, without rounding.
 */
export function meanBaseline(returns: readonly number[]): readonly number[] {
  const first = returns[0] ?? 0;
  const mean = areEqual(returns)
    ? first
    : returns.reduce((total, value) => total + value, 0) / returns.length;
  return returns.map(() => mean);
}

/**
 * b_i = mean of the others' returns (RLOO, arXiv 2402.14740, sec. 2.3; MARLOO in CoMLRL v1.3.2): R_i − b_i is G/(G − 1)
 * times the difference from the group's mean. A single return is its own baseline: no comparison, no credit.
 */
export function leaveOneOutBaseline(returns: readonly number[]): readonly number[] {
  const first = returns[0] ?? 0;
  if (returns.every((value) => value === first)) return returns;
  const sum = returns.reduce((total, value) => total + value, 0);
  return returns.map((value) => (sum - value) / (returns.length - 1));
}

/**
 * b = the group's largest return: the best gets 0, every other one is made less likely (MAReMax in CoMLRL v1.3.2; we know of
 * no paper that gives it). Not ReMax (arXiv 2310.10505), whose baseline is the reward of the greedy answer.
 */
export function maxBaseline(returns: readonly number[]): readonly number[] {
  const largest = returns.reduce((most, value) => Math.max(most, value), -Infinity);
  return returns.map(() => largest);
}

/**
 * b_i = what b came to before R_i, then b ← γ·b + (1 − γ)·R_i, from 0 on, in the order of the samples and over all steps of a
 * run (SPIRAL, arXiv 2506.24119, role-conditioned advantage estimation; its code, `prepare_trajectories`, which also
 * subtracts b before it moves: R_i is no part of its own baseline). @param decay γ
 */
export function movingBaseline(decay: number): Baseline {
  return (returns, before = 0) => {
    let now = before;
    return returns.map((value) => {
      const own = now;
      now = decay * now + (1 - decay) * value;
      return own;
    });
  };
}

/** F = 1: the difference as it is (Dr. GRPO, arXiv 2503.20783, sec. 3.2; REINFORCE, Williams 1992, sec. 4). */
export function noScale(): number {
  return 1;
}

/** Avoids dividing by zero for a group with zero variance; the value of verl and PettingLLMs. */
const epsilon = 1e-6;

/**
 * Sample standard deviation (n − 1) plus 1e-6 (GRPO, arXiv 2402.03300, sec. 4.1.2, which names neither; both as in AT-GRPO's
 * code, whose paper leaves the norm open). The divisor of a group of one, or of equal returns, is 1e-6 alone: with the mean
 * as baseline their advantages are exactly 0.
 */
export function standardDeviation(returns: readonly number[]): number {
  const count = returns.length;
  const first = returns[0] ?? 0;
  if (count < 2 || returns.every((value) => value === first)) return epsilon;
  const mean = returns.reduce((sum, value) => sum + value, 0) / count;
  const squares = returns.reduce((sum, value) => sum + (value - mean) ** 2, 0);
  return Math.sqrt(squares / (count - 1)) + epsilon;
}

/** Tolerance: sums of the same rewards in another order count as equal. */
const rounding = 1e-9;

/**
 * Standard deviation (n) of what `leaveOneOutBaseline` leaves of the returns, √(σ² + 1e-8) with σ = n/(n − 1) times that of the
 * returns (C3, arXiv 2603.06859; its code's `group_mean_std`, applied to the credit by default). As it cancels the factor n/(n − 1), the
 * advantages are those of a comparison with the group's mean.
 */
export function leaveOneOutDeviation(returns: readonly number[]): number {
  const count = returns.length;
  if (count < 2) return Math.sqrt(least);
  const mean = returns.reduce((sum, value) => sum + value, 0) / count;
  const squares = returns.reduce((sum, value) => sum + (value - mean) ** 2, 0);
  return Math.sqrt((count / (count - 1)) ** 2 * (squares / count) + least);
}

/** Of C3's code: the variance of a group is at least this. */
const least = 1e-8;

/** Whether returns differ by no more than rounding. */
export function isFlat(returns: readonly number[]): boolean {
  return areEqual(returns, rounding * Math.max(1, Math.abs(returns[0] ?? 0)));
}

/** Whether the scale enlarges differences as they get smaller. */
export function dividesByDeviation({ scale }: Pick<Algorithm, "scale">): boolean {
  return scale([0, 1]) !== scale([0, 2]);
}
