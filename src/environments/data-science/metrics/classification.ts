/** Metrics of labels and of probabilities, as scikit-learn defines them. */

/** The hidden labels, and what a submission predicts. */
export interface Truth {
  /** In the order of the test set. Labels; for regression, numbers as text. */
  readonly labels: readonly string[];
  /** Of a classification, sorted; of two, the second is the positive one unless a task says otherwise. */
  readonly classes: readonly string[];
  readonly positive: string;
}

/**
 * One row per row of the test set: a label, a number, the probability of the positive class, or one of each class in
 * the order of `classes`.
 */
export interface Predictions {
  readonly labels: readonly string[];
  /** Rows of one number, or of one for each class. */
  readonly numbers: readonly (readonly number[])[];
}

export function accuracyOf(truth: readonly string[], predicted: readonly string[]): number {
  return truth.filter((label, index) => label === predicted[index]).length / truth.length;
}

/** F1 of one class: 2·TP / (2·TP + FP + FN); 0 if it is neither present nor predicted. */
export function binaryF1(truth: readonly string[], predicted: readonly string[], positive: string): number {
  let [hits, wrong] = [0, 0];
  truth.forEach((label, index) => {
    const isPredicted = predicted[index] === positive;
    if (isPredicted && label === positive) hits++;
    else if (isPredicted || label === positive) wrong++;
  });
  return hits === 0 ? 0 : (2 * hits) / (2 * hits + wrong);
}

/** Mean of the classes' F1 weighted with their shares of the truth. */
export function weightedF1(truth: readonly string[], predicted: readonly string[]): number {
  const counts = countsOf(truth);
  const terms = [...counts].map(([label, count]) => count * binaryF1(truth, predicted, label));
  return sum(terms) / truth.length;
}

/** Mean of the F1 of all classes that occur in truth or predictions. */
export function macroF1(truth: readonly string[], predicted: readonly string[]): number {
  const classes = [...new Set([...truth, ...predicted])];
  return sum(classes.map((label) => binaryF1(truth, predicted, label))) / classes.length;
}

/** The share of pairs in which the positive has the larger value; equal values count half. NaN with one class. */
export function areaUnderCurve(isPositive: readonly boolean[], values: readonly number[]): number {
  const order = values.map((value, index) => ({ value, isPositive: isPositive[index] === true }));
  order.sort((left, right) => left.value - right.value);
  const positives = order.filter((one) => one.isPositive).length;
  let ranks = 0;
  for (let start = 0; start < order.length;) {
    let end = start;
    while (end < order.length && order[end]?.value === order[start]?.value) end++;
    const rank = (start + 1 + end) / 2;
    for (; start < end; start++) if (order[start]?.isPositive === true) ranks += rank;
  }
  return (ranks - (positives * (positives + 1)) / 2) / (positives * (order.length - positives));
}

/** Probabilities below this, or above its complement, count as this: float64's epsilon, as in scikit-learn. */
const least = Number.EPSILON;

/** @param numbers the positive class's probability, or one of each class; several are divided by their sum */
export function logLossOf(
  { labels, classes, positive }: Truth,
  numbers: readonly (readonly number[])[],
): number {
  const losses = labels.map((label, index) => {
    const row = numbers[index] ?? [];
    const [first = Number.NaN] = row;
    const probability =
      row.length === 1 ? (label === positive ? first : 1 - first) : shareOf(row, classes.indexOf(label));
    return -Math.log(Math.min(1 - least, Math.max(least, probability)));
  });
  return sum(losses) / labels.length;
}

function shareOf(row: readonly number[], index: number): number {
  return (row[index] ?? Number.NaN) / sum(row);
}

export function countsOf(labels: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const label of labels) counts.set(label, (counts.get(label) ?? 0) + 1);
  return counts;
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
