import { readFileSync } from "node:fs";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Predictions, Truth } from "./classification.ts";
import { bestConstant, normalisedGap, relativeGap, scaleOf } from "./gap.ts";
import { metricNamed, metricNames, metrics, type MetricName } from "./metric.ts";
import { rmsePercent } from "./regression.ts";
import { reportOf } from "./report.ts";

interface Golden {
  readonly metric: MetricName;
  readonly truth: readonly string[];
  readonly classes: readonly string[];
  readonly positive: string;
  readonly predictions: Predictions;
  readonly value: number;
}

const golden = JSON.parse(
  readFileSync(new URL("fixtures/golden.json", import.meta.url), "utf8"),
) as readonly Golden[];

const binary = (labels: readonly string[]): Truth => ({ labels, classes: ["0", "1"], positive: "1" });
const ofNumbers = (...values: readonly number[]): Predictions => ({
  labels: [],
  numbers: values.map((value) => [value]),
});

describe("metrics", () => {
  it.each(metricNames)("%s equals scikit-learn's", (name) => {
    const cases = golden.filter(({ metric }) => metric === name);
    expect(cases.length).toBeGreaterThan(1);
    for (const { truth: labels, classes, positive, predictions, value } of cases) {
      const measured = metricNamed(name).measure({ labels, classes, positive }, predictions);
      // Rounding of sums of a few hundred doubles.
      expect(measured).toBeCloseTo(value, 9);
    }
  });

  it("of equal values: half of the area under the curve", () => {
    const truth = binary(["0", "1", "0", "1"]);
    expect(metrics.auc.measure(truth, ofNumbers(0.5, 0.5, 0.5, 0.5))).toBe(0.5);
    expect(metrics.auc.measure(truth, ofNumbers(0.1, 0.9, 0.5, 0.5))).toBe(0.875);
    expect(metrics.auc.measure(binary(["1", "1"]), ofNumbers(0.1, 0.2))).toBeNaN();
  });

  it("of certain and wrong probabilities: a large loss, but not an infinite one", () => {
    expect(metrics["log-loss"].measure(binary(["1"]), ofNumbers(0))).toBeCloseTo(
      -Math.log(Number.EPSILON),
      9,
    );
  });
});

describe("the baseline", () => {
  it("is the best constant, chosen with the truth", () => {
    const labels = binary(["1", "1", "1", "0"]);
    expect(bestConstant(metrics.accuracy, labels)).toBe(0.75);
    expect(bestConstant(metrics.f1, labels)).toBeCloseTo(6 / 7, 12);
    expect(bestConstant(metrics.auc, labels)).toBe(0.5);
    const entropy = -(0.75 * Math.log(0.75) + 0.25 * Math.log(0.25));
    expect(bestConstant(metrics["log-loss"], labels)).toBeCloseTo(entropy, 12);
    const numbers: Truth = { labels: ["0", "0", "3"], classes: [], positive: "" };
    expect(bestConstant(metrics.rmse, numbers)).toBeCloseTo(Math.sqrt(2), 12);
    expect(bestConstant(metrics.mae, numbers)).toBe(1);
  });

  it("gives a constant prediction nothing, whatever the metric", () => {
    const value = fc.double({ min: 0, max: 100, noNaN: true });
    fc.assert(
      fc.property(
        fc.constantFrom(...metricNames),
        fc.array(fc.boolean(), { minLength: 2, maxLength: 30 }),
        fc.array(value, { minLength: 30, maxLength: 30 }),
        value,
        (name, labels, numbers, constant) => {
          const { values, measure } = metricNamed(name);
          const isNumeric = values === "numbers";
          const texts = labels.map((label, index) => String(isNumeric ? numbers[index] : label ? 1 : 0));
          const truth = isNumeric ? { labels: texts, classes: [], positive: "" } : binary(texts);
          const guess = isNumeric ? constant : constant / 100;
          const predictions: Predictions =
            values === "labels"
              ? { labels: texts.map(() => (guess < 0.5 ? "0" : "1")), numbers: [] }
              : ofNumbers(...texts.map(() => guess));
          const gap = normalisedGap(measure(truth, predictions), scaleOf(name, truth));
          // Of rounding: a constant equal to the mean up to the last bit.
          expect(gap).toBeLessThan(1e-9);
        },
      ),
    );
  });

  it("of the median error is the middle of the closest half, of SMAPE a value of the truth", () => {
    const labels = ["0", "1", "10", "10.5", "11"];
    const truth = { labels, classes: [], positive: "" };
    expect(bestConstant(metrics["median-absolute-error"], truth)).toBe(0.5);
    const even = { ...truth, labels: ["0", "9", "10", "30"] };
    expect(bestConstant(metrics["median-absolute-error"], even)).toBe(5);
    const uneven = { ...truth, labels: ["1", "1", "1", "1000", "1001", "1002", "1003"] };
    expect(bestConstant(metrics.smape, uneven)).toBeCloseTo(
      metrics.smape.measure(uneven, ofNumbers(...uneven.labels.map(() => 1001))),
      12,
    );
  });

  it("of the data set counts if it is better", () => {
    const truth = binary(["1", "1", "1", "0"]);
    expect(scaleOf("accuracy", truth, { baseline: 0.5, gold: 0.9 })).toEqual({ baseline: 0.75, gold: 0.9 });
    expect(scaleOf("accuracy", truth, { baseline: 0.8 })).toEqual({ baseline: 0.8, gold: 1 });
  });
});

describe("the gap", () => {
  it("is DSBench's relative performance gap, between 0 and 1 for rewards", () => {
    // Its figures for titanic (accuracy) and bike-sharing-demand (RMSLE): gold 1 and 0.
    expect(relativeGap(0.8, { baseline: 0.4972067039106145, gold: 1 })).toBeCloseTo(0.602222, 6);
    expect(relativeGap(1.2002733270751054, { baseline: 4.8010933083004215, gold: 0 })).toBeCloseTo(0.75, 12);
    expect(relativeGap(0.3, { baseline: 0.5, gold: 1 })).toBe(0);
    expect(relativeGap(1, { baseline: 0.5, gold: 0.9 })).toBe(1.25);
    expect(normalisedGap(1, { baseline: 0.5, gold: 0.9 })).toBe(1);
    expect(relativeGap(0.5, { baseline: 0.5, gold: 0.5 })).toBe(0);
    expect(relativeGap(Number.NaN, { baseline: 0.5, gold: 1 })).toBe(0);
  });
});

describe("the fair report", () => {
  it("counts a failed run as MAPPA does", () => {
    expect(reportOf("classification", binary(["1"]), null)).toEqual({ fairAccuracy: 0.5, fairF1: 0 });
    expect(reportOf("regression", binary([]), null)).toEqual({ fairRmsePercent: 50 });
  });

  it("of probabilities takes the more probable class", () => {
    const truth = binary(["1", "0", "1", "0"]);
    expect(reportOf("classification", truth, ofNumbers(0.9, 0.2, 0.4, 0.1))).toEqual({
      fairAccuracy: 0.75,
      fairF1: 2 / 3,
    });
  });

  it("gives the RMSE in percent of the range", () => {
    expect(rmsePercent([0, 10], [1, 9])).toBeCloseTo(10, 12);
    expect(
      reportOf("regression", { labels: ["0", "10"], classes: [], positive: "" }, ofNumbers(1, 9)),
    ).toEqual({
      fairRmsePercent: 10,
    });
  });
});
