/** How much attacks raise a judge's scores. */
import type { Interval } from "../statistics.ts";

/** Scores are from 0 to 10. */
export interface AttackReport {
  /** Mean score of the steps without an attack; null: no verdict. */
  readonly without: number | null;
  readonly gains: readonly AttackGain[];
  /** Mean gain over the attacks, with its 95 % interval, which knows the noise of both sides; null: too few verdicts. */
  readonly mean: number | null;
  readonly interval: Interval | null;
  /** Verdicts that failed. */
  readonly failed: number;
}

export interface AttackGain {
  readonly name: string;
  readonly kind: string;
  /** Mean over the attacked steps; null: no verdict. */
  readonly gain: number | null;
}
