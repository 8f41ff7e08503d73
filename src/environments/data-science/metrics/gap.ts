/**
 * A metric as a share of the way from a baseline to gold. The baseline is the best constant prediction, chosen with the
 * hidden labels, so that no constant earns anything.
 */
import { mean } from "../../../statistics.ts";
import { countsOf, type Predictions, type Truth } from "./classification.ts";
import { metricNamed, type Metric, type MetricName } from "./metric.ts";
import { medianOf } from "./regression.ts";

export interface ScoreScale {
  readonly baseline: number;
  readonly gold: number;
}

/**
 * @param known a data set's own baseline and gold. The better of the two baselines counts; gold is perfect unless given
 */
export function scaleOf(name: MetricName, truth: Truth, known: Partial<ScoreScale> = {}): ScoreScale {
  const metric = metricNamed(name);
  const constant = bestConstant(metric, truth);
  const { baseline = constant, gold = metric.perfect } = known;
  const better = metric.isLargerBetter ? Math.max(constant, baseline) : Math.min(constant, baseline);
  return { baseline: better, gold };
}

/** In [0, 1]; 0 if there is nothing between baseline and gold, or the value is not a number. */
export function normalisedGap(value: number, scale: ScoreScale): number {
  return Math.min(1, relativeGap(value, scale));
}

/** DSBench's relative performance gap of one task: max(0, (value − baseline) / (gold − baseline)). */
export function relativeGap(value: number, { baseline, gold }: ScoreScale): number {
  const gap = (value - baseline) / (gold - baseline);
  return Number.isFinite(gap) ? Math.max(0, gap) : 0;
}

export function bestConstant(metric: Metric, truth: Truth): number {
  const values = constantsFor(metric, truth).map((one) => metric.measure(truth, one));
  const known = values.filter(Number.isFinite);
  return metric.isLargerBetter ? Math.max(...known) : Math.min(...known);
}

function constantsFor({ values, constants }: Metric, truth: Truth): Predictions[] {
  const { labels } = truth;
  const ofNumbers = (...row: readonly number[]): Predictions => ({
    labels: [],
    numbers: labels.map(() => row),
  });
  if (values === "labels") {
    const classes = [...new Set([...truth.classes, ...labels])];
    return classes.map((label) => ({ labels: labels.map(() => label), numbers: [] }));
  }
  if (values === "probabilities") return [ofNumbers(...sharesOf(truth))];
  const numbers = labels.map(Number);
  if (constants !== undefined) return constants(numbers).map((one) => ofNumbers(one));
  const logarithmic = Math.expm1(mean(numbers.map((one) => Math.log1p(Math.max(0, one)))));
  return [mean(numbers), medianOf(numbers), logarithmic].map((one) => ofNumbers(one));
}

/** The positive class's share, or that of each of more than two. */
function sharesOf({ labels, classes, positive }: Truth): number[] {
  const counts = countsOf(labels);
  const share = (label: string): number => (counts.get(label) ?? 0) / labels.length;
  return classes.length > 2 ? classes.map(share) : [share(positive)];
}
