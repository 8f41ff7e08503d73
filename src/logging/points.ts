/** A run's metrics and evaluations as points: a step and its named numbers. */
import { readEvaluations, readMetrics } from "../runs/read.ts";
import type { Evaluation, StepMetrics } from "../runs/records.ts";
import { cellsOf } from "./cells.ts";
import { type Clock, readClock } from "./clock.ts";

export interface Point {
  /** Unique in the run, and the same if a resumed run repeats the step: "metrics/12", "evaluation/40/team". */
  readonly key: string;
  readonly step: number;
  /** Milliseconds since 1970. */
  readonly time: number;
  /** By name: "rollout/success". */
  readonly values: ReadonlyMap<string, number>;
}

/** In the order of their steps; a step's metrics come before the evaluations after it. */
export async function readPoints(directory: string): Promise<readonly Point[]> {
  // In this order: an evaluation never arrives after the metrics of a later step.
  const metrics = await readMetrics(directory);
  const evaluations = await readEvaluations(directory);
  const clock = await readClock(directory);
  const points = [
    ...metrics.map((record) => metricsPoint(record, clock)),
    ...evaluations.map((record) => evaluationPoint(record, clock)),
  ];
  return points.toSorted((one, other) => one.step - other.step);
}

function metricsPoint(record: StepMetrics, clock: Clock): Point {
  const { step, policies, critics, rollout } = record;
  const time = clock.step(step)?.end ?? clock.started;
  return { key: `metrics/${step}`, step, time, values: numbersOf({ policies, critics, rollout }) };
}

function evaluationPoint(record: Evaluation, clock: Clock): Point {
  const { step, team, ...values } = record;
  const time = clock.evaluation(step, team)?.end ?? clock.started;
  return {
    key: `evaluation/${step}/${team}`,
    step,
    time,
    values: numbersOf({ evaluation: { [team]: values } }),
  };
}

/** Without the version of the record's form. */
function numbersOf(record: object): ReadonlyMap<string, number> {
  return new Map(
    [...cellsOf(record, "/")].filter(
      (cell): cell is [string, number] => typeof cell[1] === "number" && !cell[0].endsWith("schema_version"),
    ),
  );
}
