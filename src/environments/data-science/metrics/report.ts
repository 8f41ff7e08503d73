/**
 * What evaluations report of a task, finished or not. The "fair" figures count a failed run as MAPPA does: accuracy .5,
 * F1 0, RMSE 50 % of the range.
 */
import { accuracyOf, binaryF1, weightedF1, type Predictions, type Truth } from "./classification.ts";
import { rmsePercent } from "./regression.ts";

export type TaskType = "classification" | "regression";

const failed = { accuracy: 0.5, f1: 0, rmsePercent: 50 } as const;

/** @param predictions null: no valid submission */
export function reportOf(
  type: TaskType,
  truth: Truth,
  predictions: Predictions | null,
): Readonly<Record<string, number>> {
  if (type === "regression") {
    const found =
      predictions === null ? failed.rmsePercent : rmsePercent(truth.labels.map(Number), firstOf(predictions));
    return { fairRmsePercent: Number.isFinite(found) ? found : failed.rmsePercent };
  }
  if (predictions === null) return { fairAccuracy: failed.accuracy, fairF1: failed.f1 };
  const labels = labelsOf(truth, predictions);
  const f1 =
    truth.classes.length === 2
      ? binaryF1(truth.labels, labels, truth.positive)
      : weightedF1(truth.labels, labels);
  return { fairAccuracy: accuracyOf(truth.labels, labels), fairF1: f1 };
}

function firstOf({ numbers }: Predictions): number[] {
  return numbers.map(([value = Number.NaN]) => value);
}

/** Probabilities as the most probable class; of two, from one half on the positive one. */
function labelsOf({ classes, positive }: Truth, { labels, numbers }: Predictions): readonly string[] {
  if (numbers.length === 0) return labels;
  const negative = classes.find((one) => one !== positive) ?? positive;
  return numbers.map((row) => {
    if (row.length === 1) return (row[0] ?? 0) >= 0.5 ? positive : negative;
    return classes[row.indexOf(Math.max(...row))] ?? positive;
  });
}
