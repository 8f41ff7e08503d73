/** Means over seeds with confidence intervals. */
import type { Interval } from "../statistics.ts";
import { mean, meanInterval, wilsonInterval } from "../statistics.ts";

/**
 * 95 % interval of a share, given by its value for each seed. The seeds play the same tasks, so it is never within
 * Wilson's over these: seeds that agree say nothing about other tasks. Limited to [0, 1]; null without values.
 */
export function shareInterval(shares: readonly number[], tasks: number): Interval | null {
  if (shares.length === 0) return null;
  const overTasks = taskInterval(shares, tasks);
  const { low, high } = meanInterval(shares) ?? overTasks;
  return {
    low: Math.max(0, Math.min(low, overTasks.low)),
    high: Math.min(1, Math.max(high, overTasks.high)),
  };
}

/**
 * Wilson's 95 % interval with every task as one trial, however many seeds and samples played it: as in
 * `clusteredInterval` where the tasks' own shares are not known, which gives the widest.
 */
export function taskInterval(shares: readonly number[], tasks: number): Interval {
  const share = Math.min(1, Math.max(0, mean(shares)));
  return wilsonInterval(share * tasks, tasks);
}
