/** The metrics of submissions: what each needs, and how it is computed from a column of predictions. */
import {
  accuracyOf,
  areaUnderCurve,
  binaryF1,
  logLossOf,
  macroF1,
  weightedF1,
  type Predictions,
  type Truth,
} from "./classification.ts";
import {
  meanAbsoluteError,
  meanSquaredError,
  medianAbsoluteError,
  r2Of,
  rmsleOf,
  rootMeanSquaredError,
  smapeOf,
} from "./regression.ts";

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

/** What a submission's values are. */
export type Values = "labels" | "probabilities" | "numbers";

export interface Metric {
  readonly values: Values;
  readonly isLargerBetter: boolean;
  /** Of perfect predictions. */
  readonly perfect: number;
  /** NaN if it is not defined: the area under the curve with one class. */
  readonly measure: (truth: Truth, predictions: Predictions) => number;
  /** Numbers among which the best constant is. Absent: it is the mean, the median, or the mean of the logarithms. */
  readonly constants?: (truth: readonly number[]) => readonly number[];
}

const ofNumbers = (
  formula: (truth: readonly number[], predicted: readonly number[]) => number,
  isLargerBetter = false,
): Metric => ({
  values: "numbers",
  isLargerBetter,
  perfect: isLargerBetter ? 1 : 0,
  measure: ({ labels }, { numbers }) =>
    formula(
      labels.map(Number),
      numbers.map(([value = Number.NaN]) => value),
    ),
});

const ofLabels = (formula: (truth: Truth, predicted: readonly string[]) => number): Metric => ({
  values: "labels",
  isLargerBetter: true,
  perfect: 1,
  measure: (truth, { labels }) => formula(truth, labels),
});

export const metrics = {
  accuracy: ofLabels(({ labels }, predicted) => accuracyOf(labels, predicted)),
  f1: ofLabels(({ labels, positive }, predicted) => binaryF1(labels, predicted, positive)),
  "weighted-f1": ofLabels(({ labels }, predicted) => weightedF1(labels, predicted)),
  "macro-f1": ofLabels(({ labels }, predicted) => macroF1(labels, predicted)),
  auc: {
    values: "probabilities",
    isLargerBetter: true,
    perfect: 1,
    measure: ({ labels, positive }, { numbers }) =>
      areaUnderCurve(
        labels.map((label) => label === positive),
        numbers.map(([value = Number.NaN]) => value),
      ),
  },
  "log-loss": {
    values: "probabilities",
    isLargerBetter: false,
    perfect: 0,
    measure: (truth, { numbers }) => logLossOf(truth, numbers),
  },
  rmse: ofNumbers(rootMeanSquaredError),
  mae: ofNumbers(meanAbsoluteError),
  rmsle: ofNumbers(rmsleOf),
  mse: ofNumbers(meanSquaredError),
  "median-absolute-error": { ...ofNumbers(medianAbsoluteError), constants: middlesOfHalves },
  smape: { ...ofNumbers(smapeOf), constants: someOf },
  r2: ofNumbers(r2Of, true),
} as const satisfies Record<string, Metric>;

export type MetricName = keyof typeof metrics;

export const metricNames = Object.keys(metrics) as [MetricName, ...MetricName[]];

export function metricNamed(name: MetricName): Metric {
  return metrics[name];
}
