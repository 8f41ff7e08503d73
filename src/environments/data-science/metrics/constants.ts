/** The best constants for metrics whose best is neither the mean nor the median. */
type Numbers = readonly number[];

/** Measuring each takes as long as sorting the truth. */
const mostMiddles = 100;
const mostLabels = 500;

/**
 * Middles of the shortest intervals with half of the values: the median distance to a constant has its minima there. Of
 * an even number of values the median is the mean of two distances, hence two sizes.
 */
export function middlesOfHalves(truth: Numbers): number[] {
  const sorted = truth.toSorted((left, right) => left - right);
  const sizes = [Math.ceil(sorted.length / 2), Math.floor(sorted.length / 2) + 1];
  const intervals = sizes.flatMap((size) =>
    sorted.flatMap((low, index) => {
      const high = sorted[index + size - 1];
      return high === undefined ? [] : [{ middle: (low + high) / 2, width: high - low }];
    }),
  );
  intervals.sort((one, other) => one.width - other.width);
  return intervals.slice(0, mostMiddles).map(({ middle }) => middle);
}

/**
 * All different values, or some of them at equal distances by rank. SMAPE has its minima at values of the truth: in the
 * logarithm of the constant each term, 2·tanh(|u|/2), is concave between them.
 */
export function someOf(truth: Numbers): number[] {
  const different = [...new Set(truth)].toSorted((left, right) => left - right);
  const step = Math.max(1, different.length / mostLabels);
  const count = Math.min(different.length, mostLabels);
  return Array.from({ length: count }, (_, index) => different[Math.floor(index * step)] as number);
}
