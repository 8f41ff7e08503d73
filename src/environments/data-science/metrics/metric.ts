/** The metrics of submissions: what each needs, and how it is computed from a column of predictions. */
import { accuracyOf, areaUnderCurve, binaryF1, logLossOf, macroF1, weightedF1 } from "./classification.ts";
import { middlesOfHalves, someOf } from "./constants.ts";
import type { Predictions, Truth } from "./predictions.ts";
import {
  meanAbsoluteError,
  meanSquaredError,
  medianAbsoluteError,
  r2Of,
  rmsleOf,
  rootMeanSquaredError,
  smapeOf,
} from "./regression.ts";

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
