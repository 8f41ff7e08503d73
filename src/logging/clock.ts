/**
 * When a run's records were made, in milliseconds since 1970. The run's folder has durations only, so times are those of
 * an uninterrupted run: durations in order, from the moment the folder's recipe was written.
 */
import fs from "node:fs/promises";
import { layoutOf } from "../runs/layout.ts";
import { readTimings } from "../runs/read.ts";
import type { Timing } from "../runs/records.ts";

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
