import type { CreditedAction, Signals } from "../credit/algorithm.ts";

/** What policies and critics are trained on in a step. */
export interface CreditedBatch {
  /** Counted within the stage of reinforcement. */
  readonly stageStep: number;
  readonly credited: readonly CreditedAction[];
  readonly signals: Signals;
}
