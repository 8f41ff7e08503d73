/** Metrics of numbers, as scikit-learn defines them. */
import { mean } from "../../../statistics.ts";

type Numbers = readonly number[];

function errorsOf(truth: Numbers, predicted: Numbers): number[] {
  return truth.map((value, index) => (predicted[index] ?? Number.NaN) - value);
}

export function meanSquaredError(truth: Numbers, predicted: Numbers): number {
  return mean(errorsOf(truth, predicted).map((error) => error ** 2));
}

export function rootMeanSquaredError(truth: Numbers, predicted: Numbers): number {
  return Math.sqrt(meanSquaredError(truth, predicted));
}

export function meanAbsoluteError(truth: Numbers, predicted: Numbers): number {
  return mean(errorsOf(truth, predicted).map(Math.abs));
}

export function medianAbsoluteError(truth: Numbers, predicted: Numbers): number {
  return medianOf(errorsOf(truth, predicted).map(Math.abs));
}

/** Of log(1 + value); NaN below −1. */
export function rmsleOf(truth: Numbers, predicted: Numbers): number {
  return rootMeanSquaredError(truth.map(Math.log1p), predicted.map(Math.log1p));
}

/** 100 · mean of 2·|error| / (|truth| + |prediction|); 0 where both are 0. */
export function smapeOf(truth: Numbers, predicted: Numbers): number {
  const terms = errorsOf(truth, predicted).map((error, index) => {
    const size = Math.abs(truth[index] ?? 0) + Math.abs(predicted[index] ?? 0);
    return size === 0 ? 0 : (2 * Math.abs(error)) / size;
  });
  return 100 * mean(terms);
}

export function r2Of(truth: Numbers, predicted: Numbers): number {
  const centre = mean(truth);
  const spread = mean(truth.map((value) => (value - centre) ** 2));
  return 1 - meanSquaredError(truth, predicted) / spread;
}

export function medianOf(values: Numbers): number {
  const sorted = values.toSorted((left, right) => left - right);
  const half = sorted.length / 2;
  const [low = Number.NaN, high = Number.NaN] = [sorted[Math.ceil(half) - 1], sorted[Math.floor(half)]];
  return (low + high) / 2;
}

/** RMSE in percent of the range of the truth, as MAPPA reports it. NaN for a constant truth. */
export function rmsePercent(truth: Numbers, predicted: Numbers): number {
  const range =
    truth.reduce((most, one) => Math.max(most, one), -Infinity) -
    truth.reduce((least, one) => Math.min(least, one), Infinity);
  return (100 * rootMeanSquaredError(truth, predicted)) / range;
}
