/** The state of a run between steps. */
import type { Recipe } from "../recipes/schema.ts";
import type { StepMetrics } from "../runs/records.ts";
import type { Run } from "../runs/run.ts";
import type { AuxiliaryModels } from "./auxiliary.ts";
import type { Batches } from "./batches.ts";
import type { Listener, Stage } from "./events.ts";
import type { Recorder } from "./recorder.ts";
import type { Shared, StageState, TaughtBases } from "./stage.ts";
import { leaveWarmStart } from "./stage.ts";
import type { StepRecord } from "./step-record.ts";

/** Only `begin`, `advance` and what they call change it; the parts of a step get what they use. */
export interface TrainingState {
  readonly run: Run;
  readonly recorder: Recorder;
  readonly shared: Shared;
  readonly emit: Listener;
  /** Steps done, counted over both stages. */
  step: number;
  stage: StageState;
  bases: TaughtBases;
  warmStartStep: ((stageStep: number) => Promise<StepRecord>) | null;
  /** One task is played and shown early in the warm start. */
  readonly previews: boolean;
  /** Rewards outside their range have been reported. */
  isRangeReported: boolean;
  /** Metrics of the last steps. Null before the first one of this process. */
  recent: readonly StepMetrics[] | null;
  /** Null until reinforcement starts or is resumed. */
  auxiliary: AuxiliaryModels | null;
  /** Likewise. */
  batches: Batches | null;
}

/** A step of a stage, from 1. */
export interface Place {
  readonly stage: Stage;
  readonly stageStep: number;
}

export function placeOf({ warmStart }: Recipe, step: number): Place {
  const warmSteps = warmStart?.steps ?? 0;
  return step <= warmSteps
    ? { stage: "warm-start", stageStep: step }
    : { stage: "reinforcement", stageStep: step - warmSteps };
}

/** A step as people see it: `warm start 25`, `step 3`. */
export function showStep(recipe: Recipe, step: number): string {
  const { stage, stageStep } = placeOf(recipe, step);
  return `${stage === "warm-start" ? "warm start" : "step"} ${stageStep}`;
}

/** Policies start reinforcement from what the warm start has made. */
export async function endWarmStart(state: TrainingState): Promise<void> {
  const left = await leaveWarmStart(state.shared, state.stage, state.run.layout.models);
  state.stage = left.state;
  state.bases = left.bases ?? state.bases;
}
