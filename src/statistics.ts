/** Statistics of evaluations. */

export interface Interval {
  readonly low: number;
  readonly high: number;
}

/**
 * Wilson's score interval of a proportion (Wilson 1927, J. Am. Stat. Assoc. 22). Unlike the normal approximation it stays
 * in [0, 1] and has a width if all or none succeeded.
 *
 * @param z Standard normal quantile; the default gives 95 %.
 */
export function wilsonInterval(successes: number, trials: number, z = 1.959963984540054): Interval {
  if (trials === 0) return { low: 0, high: 1 };
  const share = successes / trials;
  const centre = share + z ** 2 / (2 * trials);
  const spread = z * Math.sqrt((share * (1 - share)) / trials + z ** 2 / (4 * trials ** 2));
  const scale = 1 + z ** 2 / trials;
  return {
    low: successes === 0 ? 0 : (centre - spread) / scale,
    high: successes === trials ? 1 : (centre + spread) / scale,
  };
}

/**
 * 95 % interval of the mean of shares, one for each cluster of trials that are not independent, such as a task's
 * samples: Wilson's with the effective number of trials, p(1 − p) / SE² (Korn and Graubard 1998, Survey Methodology 24). It is at
 * least the number of clusters, which also holds if all shares are equal, and at most that of trials.
 *
 * @param shares in [0, 1], one per cluster
 * @param trials of all clusters together
 */
export function clusteredInterval(shares: readonly number[], trials: number): Interval {
  const centre = mean(shares);
  const error = standardError(shares) ?? 0;
  const effective = error === 0 ? shares.length : (centre * (1 - centre)) / error ** 2;
  const count = Math.min(Math.max(effective, shares.length), trials);
  return wilsonInterval(centre * count, count);
}

/** Of the mean of independent values. Null for fewer than two. */
export function standardError(values: readonly number[]): number | null {
  if (values.length < 2) return null;
  return standardDeviation(values) / Math.sqrt(values.length - 1);
}

/**
 * 95 % interval of a mean by Student's t distribution, from independent values such as one success per seed. Null for
 * fewer than two, whose variation is unknown.
 */
export function meanInterval(values: readonly number[], confidence = 0.95): Interval | null {
  const count = values.length;
  if (count < 2) return null;
  const centre = mean(values);
  const variance = sum(values.map((value) => (value - centre) ** 2)) / (count - 1);
  const half = studentQuantile(count - 1, confidence) * Math.sqrt(variance / count);
  return { low: centre - half, high: centre + half };
}

/**
 * 95 % interval of mean(one) − mean(other), from independent values with variances of their own. Null: fewer than two on a
 * side. Welch 1947, Biometrika 34; degrees of freedom rounded down.
 */
export function differenceInterval(one: readonly number[], other: readonly number[]): Interval | null {
  const [left, right] = [standardError(one), standardError(other)];
  if (left === null || right === null) return null;
  const centre = mean(one) - mean(other);
  const variance = left ** 2 + right ** 2;
  if (variance === 0) return { low: centre, high: centre };
  const degrees = variance ** 2 / (left ** 4 / (one.length - 1) + right ** 4 / (other.length - 1));
  const spread = studentQuantile(Math.max(1, Math.floor(degrees))) * Math.sqrt(variance);
  return { low: centre - spread, high: centre + spread };
}

/**
 * 95 % interval of mean(one) − mean(other), from independent values with the same variance (Student 1908, Biometrika 6).
 * Null: fewer than two on a side.
 */
export function pooledInterval(one: readonly number[], other: readonly number[]): Interval | null {
  if (one.length < 2 || other.length < 2) return null;
  const degrees = one.length + other.length - 2;
  const squares = one.length * standardDeviation(one) ** 2 + other.length * standardDeviation(other) ** 2;
  const error = Math.sqrt((squares / degrees) * (1 / one.length + 1 / other.length));
  const centre = mean(one) - mean(other);
  const spread = error === 0 ? 0 : studentQuantile(degrees) * error;
  return { low: centre - spread, high: centre + spread };
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
  let [term, total] = [isOdd ? cosine : 1, 0];
  for (let power = isOdd ? 1 : 0; power <= degrees - 2; power += 2) {
    total += term;
    term *= (cosine ** 2 * (power + 1)) / (power + 2);
  }
  return isOdd ? (2 / Math.PI) * (angle + sine * total) : sine * total;
}

export function sum(values: Iterable<number>): number {
  let total = 0;
  for (const value of values) total += value;
  return total;
}

/** 0 without values. */
export function mean(values: readonly number[]): number {
  return values.length === 0 ? 0 : sum(values) / values.length;
}

/** As a population (divided by n); 0 without values. */
export function standardDeviation(values: readonly number[]): number {
  const centre = mean(values);
  return Math.sqrt(mean(values.map((value) => (value - centre) ** 2)));
}

/** Whether no value differs from the first by more than the tolerance. */
export function areEqual(values: readonly number[], tolerance = 0): boolean {
  const [first = 0] = values;
  return values.every((value) => Math.abs(value - first) <= tolerance);
}

/**
 * Kendall's rank correlation τ_b of paired values: 1 if larger values of one always go with larger values of the other,
 * with a correction for ties (Kendall 1945, Biometrika 33). Null if either is constant, or there are fewer than two.
 */
export function rankCorrelation(pairs: readonly (readonly [number, number])[]): number | null {
  let [balance, distinct, otherDistinct] = [0, 0, 0];
  for (const [index, [one, other]] of pairs.entries()) {
    for (let later = index + 1; later < pairs.length; later++) {
      const [laterOne, laterOther] = pairs[later] as readonly [number, number];
      const [order, otherOrder] = [Math.sign(laterOne - one), Math.sign(laterOther - other)];
      balance += order * otherOrder;
      distinct += Math.abs(order);
      otherDistinct += Math.abs(otherOrder);
    }
  }
  return distinct === 0 || otherDistinct === 0 ? null : balance / Math.sqrt(distinct * otherDistinct);
}
