/** Means over seeds with confidence intervals. */
import type { Interval } from "../statistics.ts";
import { mean, wilsonInterval } from "../statistics.ts";

/**
 * 95 % interval of a mean by Student's t distribution, from independent values such as one success per seed. Null for
 * fewer than two, whose variation is unknown.
 */
export function meanInterval(values: readonly number[], confidence = 0.95): Interval | null {
  const count = values.length;
  if (count < 2) return null;
  const centre = mean(values);
  const variance = values.reduce((sum, value) => sum + (value - centre) ** 2, 0) / (count - 1);
  const half = studentQuantile(count - 1, confidence) * Math.sqrt(variance / count);
  return { low: centre - half, high: centre + half };
}

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

/** The t with P(|T| ≤ t) = confidence, by bisection. */
export function studentQuantile(degrees: number, confidence = 0.95): number {
  let [low, high] = [0, 1];
  while (studentWithin(high, degrees) < confidence) high *= 2;
  for (let round = 0; round < 200 && high - low > 1e-12 * high; round++) {
    const middle = (low + high) / 2;
    if (studentWithin(middle, degrees) < confidence) low = middle;
    else high = middle;
  }
  return (low + high) / 2;
}

/** P(|T| ≤ t) for whole degrees of freedom (Abramowitz and Stegun 1964, 26.7.3 and 26.7.4). */
function studentWithin(t: number, degrees: number): number {
  const angle = Math.atan(t / Math.sqrt(degrees));
  const [sine, cosine] = [Math.sin(angle), Math.cos(angle)];
  const isOdd = degrees % 2 === 1;
  let [term, sum] = [isOdd ? cosine : 1, 0];
  for (let power = isOdd ? 1 : 0; power <= degrees - 2; power += 2) {
    sum += term;
    term *= (cosine ** 2 * (power + 1)) / (power + 2);
  }
  return isOdd ? (2 / Math.PI) * (angle + sine * sum) : sine * sum;
}
