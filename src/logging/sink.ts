/**
 * A sink takes a run's records elsewhere. It only reads the run's folder, in a process of its own, so that no service
 * can delay or stop a training. What it could not send stays in the folder and is sent by a later update.
 *
 * Here is what sinks share: their interface and errors, the record of what was sent, and a run's numbers and times.
 */
import { createHash } from "node:crypto";
import fs from "node:fs/promises";
import { join } from "node:path";
import { ServiceError } from "../errors.ts";
import { appendLines, cutLines } from "../runs/json-lines.ts";
import { layoutOf } from "../runs/layout.ts";
import { readEvaluations, readMetrics, readTimings } from "../runs/read.ts";
import { schemaVersion, type Evaluation, type StepMetrics, type Timing } from "../runs/records.ts";

export interface Sink {
  /** For messages: "TensorBoard". */
  readonly title: string;
  /**
   * Sends what was recorded since the last update, in whatever process that was. Takes bounded time.
   * @throws SinkError if something could not be sent
   */
  update(): Promise<void>;
  /** Takes bounded time. */
  close(): Promise<void>;
}

interface SinkErrorOptions {
  readonly cause?: unknown;
  /** The same request fails again: a wrong key, a missing program. */
  readonly isPermanent?: boolean;
  /** The service asked to wait. */
  readonly retryAfterSeconds?: number;
}

export class SinkError extends ServiceError {
  readonly isPermanent: boolean;
  readonly retryAfterSeconds: number;

  constructor(message: string, { cause, isPermanent = false, retryAfterSeconds = 0 }: SinkErrorOptions = {}) {
    super(message, { cause, retryAfter: 1000 * retryAfterSeconds });
    this.name = "SinkError";
    this.isPermanent = isPermanent;
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

/** What a destination has received of a run, by the keys of its points or episodes. */
export interface Sent {
  has(key: string): boolean;
  add(keys: readonly string[]): Promise<void>;
}

/** The record of what a sink has sent of the run in this folder. Each destination has its own. */
export async function openSent(directory: string, sink: string, destination: string): Promise<Sent> {
  const folder = join(directory, "logging");
  await fs.mkdir(folder, { recursive: true });
  const name = createHash("sha256").update(destination).digest("hex").slice(0, 8);
  const file = join(folder, `${sink}-${name}.jsonl`);
  const lines = await cutLines(file, () => true);
  const known = new Set(lines.flatMap(({ key }) => (typeof key === "string" ? [key] : [])));
  return {
    has: (key) => known.has(key),
    async add(keys) {
      await appendLines(
        file,
        keys.map((key) => ({ schema_version: schemaVersion, key })),
      );
      for (const key of keys) known.add(key);
    },
  };
}

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

export type CellValue = string | number | boolean;

/** Nested keys are joined: `rollout.success`. What is unknown (`null`) has no cell. */
export function cellsOf(record: object, joint = "."): ReadonlyMap<string, CellValue> {
  return new Map(cellsAt(record, "", joint));
}

function cellsAt(value: unknown, path: string, joint: string): readonly (readonly [string, CellValue])[] {
  if (typeof value !== "object" || value === null) {
    const isCell = typeof value === "string" || typeof value === "number" || typeof value === "boolean";
    return isCell ? [[path, value]] : [];
  }
  return Object.entries(value).flatMap(([key, inner]) =>
    cellsAt(inner, path === "" ? key : `${path}${joint}${key}`, joint),
  );
}

export interface TimeInterval {
  readonly start: number;
  readonly end: number;
}

export interface Clock {
  readonly started: number;
  /** Undefined: the step is not recorded. */
  step(step: number): TimeInterval | undefined;
  /** Undefined: the evaluation is not recorded. */
  evaluation(step: number, team: string): TimeInterval | undefined;
}

export async function readClock(directory: string): Promise<Clock> {
  const { mtimeMs } = await fs.stat(layoutOf(directory).recipe);
  return clockOf(Math.floor(mtimeMs), await readTimings(directory));
}

function clockOf(started: number, timings: readonly Timing[]): Clock {
  const intervals = new Map<string, TimeInterval>();
  let now = started;
  for (const { step, what, team, seconds } of timings) {
    const interval = { start: now, end: now + seconds * 1000 };
    const name = what === "evaluation" ? evaluationKey(step, team) : stepKey(step);
    if (!intervals.has(name)) intervals.set(name, interval);
    now = interval.end;
  }
  return {
    started,
    step: (step) => intervals.get(stepKey(step)),
    evaluation: (step, team) => intervals.get(evaluationKey(step, team)),
  };
}

function stepKey(step: number): string {
  return `step/${step}`;
}

function evaluationKey(step: number, team: string | undefined): string {
  return JSON.stringify([step, team ?? null]);
}
