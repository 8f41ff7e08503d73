/**
 * What DSBench's evaluation scripts compute (LiqiangJing/DSBench, data_modeling/evaluation), for tasks with one target.
 * Micro-F1 of one label is accuracy. Tasks with several targets, or metrics of their own (kappa, Gini, Jaccard, …), are
 * missing.
 */
import type { MetricName } from "../metrics/metric.ts";

const byMetric: Readonly<Partial<Record<MetricName, string>>> = {
  accuracy: `playground-series-s3e22 playground-series-s4e2 playground-series-s4e6 spaceship-titanic
    tabular-playground-series-apr-2021 tabular-playground-series-dec-2021 tabular-playground-series-feb-2022 titanic`,
  auc: `amazon-employee-access-challenge cat-in-the-dat cat-in-the-dat-ii dont-overfit-ii instant-gratification
    microsoft-malware-prediction playground-series-s3e2 playground-series-s3e3 playground-series-s3e4
    playground-series-s3e7 playground-series-s3e12 playground-series-s3e17 playground-series-s3e24
    playground-series-s4e1 santander-customer-satisfaction santander-customer-transaction-prediction
    tabular-playground-series-aug-2022 tabular-playground-series-mar-2021 tabular-playground-series-may-2022
    tabular-playground-series-nov-2021 tabular-playground-series-sep-2021`,
  f1: "nlp-getting-started",
  "macro-f1": "liverpool-ion-switching",
  "log-loss": "playground-series-s3e10",
  rmse: `commonlitreadabilityprize playground-series-s3e1 playground-series-s3e6 playground-series-s3e8
    playground-series-s3e9 playground-series-s3e23 tabular-playground-series-aug-2021
    tabular-playground-series-feb-2021 tabular-playground-series-jan-2021`,
  rmsle: `bike-sharing-demand playground-series-s3e11 playground-series-s4e4 santander-value-prediction-challenge
    tmdb-box-office-prediction`,
  mae: "playground-series-s3e14 playground-series-s3e16 ventilator-pressure-prediction",
  mse: "tabular-playground-series-mar-2022",
  "median-absolute-error": "playground-series-s3e25",
  smape: `demand-forecasting-kernels-only playground-series-s3e19 playground-series-s3e20
    tabular-playground-series-jan-2022 tabular-playground-series-sep-2022`,
  r2: "playground-series-s4e5",
};

const metrics: ReadonlyMap<string, MetricName> = new Map(
  Object.entries(byMetric).flatMap(([metric, names]) =>
    names.split(/\s+/).map((name) => [name, metric as MetricName] as const),
  ),
);

/** Undefined: not one that Troupe has. */
export function dsbenchMetric(name: string): MetricName | undefined {
  return metrics.get(name);
}
