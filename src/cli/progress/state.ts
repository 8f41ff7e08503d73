/** The state that a screen shows of a run, reduced from its events. */
import type { Evaluation, RunResult, ServiceCounts, StepMetrics, Timing } from "../../runs/records.ts";
import type { PolicySummary, Stage, TrainEvent } from "../../train/events.ts";
import { summedCounts } from "../../train/failures.ts";
import { showTasks } from "../../format.ts";

/** Counted since this process started. */
interface Losses {
  /** Episodes lost to failing services. */
  readonly failed: number;
  /** Actions of training without a reward. */
  readonly unrewarded: number;
  /** Actions whose verdict failed. */
  readonly unjudged: number;
  /** What services did. */
  readonly services: ServiceCounts;
}

export interface ProgressState extends Losses {
  readonly run: string;
  readonly engine: string;
  readonly policies: readonly PolicySummary[];
  readonly steps: Readonly<Record<Stage, number>>;
  readonly stage: Stage | null;
  /** Steps done in the stage. */
  readonly done: number;
  readonly phase: string;
  readonly metrics: StepMetrics | null;
  readonly timing: Timing | null;
  /** Seconds of the stage's last steps, newest last. */
  readonly seconds: readonly number[];
  /** Success of the stage's steps, oldest first. */
  readonly successes: readonly number[];
  readonly evaluation: Evaluation | null;
  readonly result: RunResult | null;
}

export const noProgress: ProgressState = {
  run: "",
  engine: "",
  policies: [],
  steps: { "warm-start": 0, reinforcement: 0 },
  stage: null,
  done: 0,
  phase: "starting",
  metrics: null,
  timing: null,
  seconds: [],
  successes: [],
  evaluation: null,
  failed: 0,
  unrewarded: 0,
  unjudged: 0,
  services: {},
  result: null,
};

/** Steps that the time left is estimated from. */
const window = 20;

export function advance(state: ProgressState, event: TrainEvent): ProgressState {
  switch (event.type) {
    case "run-started":
      return { ...state, run: event.run, engine: event.engine, policies: event.policies, steps: event.steps };
    case "stage-started":
      return { ...state, stage: event.stage, done: event.done, seconds: [], successes: [] };
    case "phase":
      return { ...state, phase: event.phase };
    case "step":
      return afterStep(state, event.metrics, event.timing);
    case "evaluation-started":
      return { ...state, phase: `evaluating ${event.team}` };
    case "evaluation-progress":
      return { ...state, phase: `evaluating ${event.team}, ${event.done} of ${showTasks(event.tasks)}` };
    case "evaluation":
      return {
        ...state,
        evaluation: event.evaluation,
        ...withLosses(state, event.evaluation),
      };
    case "finished":
      return { ...state, phase: "finished", result: event.result };
    case "judge-paused":
      return { ...state, phase: `judging ${event.notice}` };
    case "warning":
    case "server-silent":
    case "server-answers":
    case "resumed":
    case "engine-changed":
    case "sample-episodes":
    case "preview":
    case "checkpoint":
    case "interrupted":
      return state;
  }
  return state;
}

function afterStep(state: ProgressState, metrics: StepMetrics, timing: Timing): ProgressState {
  const success = metrics.rollout?.success;
  return {
    ...state,
    stage: metrics.stage,
    done: metrics.stageStep,
    metrics,
    timing,
    ...withLosses(state, { ...metrics.rollout, services: metrics.services }),
    seconds: [...state.seconds, timing.seconds].slice(-window),
    successes: success === undefined ? state.successes : [...state.successes, success],
  };
}

function withLosses(
  state: Losses,
  found: { readonly [Key in keyof Losses]?: Losses[Key] | undefined } = {},
): Losses {
  const { failed = 0, unrewarded = 0, unjudged = 0 } = found;
  return {
    failed: state.failed + failed,
    unrewarded: state.unrewarded + unrewarded,
    unjudged: state.unjudged + unjudged,
    services: summedCounts([state.services, found.services]).services ?? {},
  };
}

/** Seconds left in the stage, from its last steps; null before the first. */
export function secondsLeft(state: ProgressState): number | null {
  if (state.stage === null || state.seconds.length === 0) return null;
  const mean = state.seconds.reduce((sum, each) => sum + each, 0) / state.seconds.length;
  return mean * Math.max(0, state.steps[state.stage] - state.done);
}

/** Tokens sampled and trained on per second in the last step. */
export function tokensPerSecond(metrics: StepMetrics, timing: Timing): number {
  const trained = Object.values(metrics.policies).reduce((sum, policy) => sum + policy.tokens, 0);
  return timing.seconds === 0 ? 0 : (trained + (metrics.rollout?.sampledTokens ?? 0)) / timing.seconds;
}
