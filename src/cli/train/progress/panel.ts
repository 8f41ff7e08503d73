/** The live panel of a training: its state, which events change, and the lines that show it. Pure, for tests. */
import { styleText } from "node:util";
import type { ProcessMemory, ServerLoad } from "../../../engines/engine.ts";
import {
  showBytes,
  showCount,
  showDuration,
  showLarge,
  showShare,
  showText,
  showTasks,
} from "../../../format.ts";
import type {
  Evaluation,
  RunResult,
  ServiceCounts,
  StepMetrics,
  Timing,
  WatchRecord,
} from "../../../runs/records.ts";
import type { PolicySummary, Stage, TrainEvent } from "../../../train/events.ts";
import { summedCounts } from "../../../train/failures.ts";
import {
  driftNotes,
  evaluationLine,
  lossNotes,
  rewardParts,
  roleParts,
  serviceNotes,
  stageNames,
  tokensPerSecond,
  trustParts,
  watchLine,
} from "./lines.ts";

/** @param servers that compute for it */
export function panelLines(
  state: ProgressState,
  columns: number,
  memory: Memory,
  servers: readonly ServerLoad[] = [],
): string[] {
  return [
    "",
    headLine(state),
    barLine(state, columns),
    ...measureLines(state),
    ...servers.map(serverLine),
    footLine(state, memory),
    dim("Ctrl-C saves and stops; twice: at once"),
  ];
}

function headLine(state: ProgressState): string {
  return `${styleText("bold", state.run)}  ${state.phase}`;
}

function barLine(state: ProgressState, columns: number): string {
  if (state.stage === null) return dim("no step yet");
  const steps = state.steps[state.stage];
  const left = secondsLeft(state);
  const label = ` ${stageNames[state.stage]} ${state.done}/${steps}${left === null ? "" : `  ${showDuration(left)} left`}`;
  const width = Math.max(10, Math.min(40, columns - label.length - 1));
  const full = steps === 0 ? width : Math.round((width * Math.min(state.done, steps)) / steps);
  return `${styleText("green", "━".repeat(full))}${dim("─".repeat(width - full))}${label}`;
}

function measureLines(state: ProgressState): string[] {
  const { metrics, evaluation } = state;
  const lines: string[] = [];
  if (metrics?.rollout !== undefined) {
    const trend = sparkline(state.successes.slice(-30));
    lines.push(`success ${showShare(metrics.rollout.success)}  ${styleText("green", trend)}`);
    lines.push(`reward  ${rewardParts(metrics).join("   ")}  ${dim("team + local")}`);
    lines.push(trustParts(metrics).join("   "));
    lines.push(...roleParts(metrics));
    lines.push(...driftNotes(metrics).map((note) => styleText("yellow", note)));
  } else if (metrics !== null) {
    const losses = Object.entries(metrics.policies).map(([name, { loss }]) => `${name} ${loss.toFixed(3)}`);
    lines.push(`loss    ${losses.join("   ")}`);
  }
  if (state.watch !== null) lines.push(styleText("yellow", watchLine(state.watch, state.steps)));
  lines.push(...lossNotes(state).map((note) => styleText("yellow", note)));
  const services = serviceNotes(state.services, true);
  if (services.length > 0) lines.push(`services  ${services.join("   ")}`);
  if (evaluation !== null) lines.push(evaluationLine(evaluation, state.steps));
  return lines;
}

/** In bytes: of this process, and of the engine's, if it has its own. */
export interface Memory {
  readonly own: number;
  readonly engine?: ProcessMemory | undefined;
}

function memoryPart({ own, engine }: Memory): string {
  const gpu = engine?.device === undefined ? [] : [`GPU ${showBytes(engine.device)}`];
  const host = engine === undefined ? [] : [`engine ${showBytes(engine.host)}`];
  return [`memory ${showBytes(own)}`, ...host, ...gpu].join(", ");
}

function footLine(state: ProgressState, memory: Memory): string {
  const { metrics, timing } = state;
  const rate =
    metrics === null || timing === null ? [] : [`${showLarge(tokensPerSecond(metrics, timing))} tokens/s`];
  return [...rate, memoryPart(memory), dim(state.engine)].join("   ");
}

/** `server  127.0.0.1:8000   12 requests waiting   paused for lack of capacity   at most 50 models` */
function serverLine({ server, waiting, queue, capacity, silence }: ServerLoad): string {
  const parts = [
    `server  ${showText(server, 60)}`,
    `${showCount(waiting)} ${waiting === 1 ? "request" : "requests"} waiting`,
    ...(silence === null ? [] : [styleText("yellow", `no answer for ${showDuration(silence.seconds)}`)]),
    ...(queue === null ? [] : [styleText("yellow", showText(queue, 120))]),
    ...(capacity === null ? [] : [dim(showText(capacity, 120))]),
  ];
  return parts.join("   ");
}

const bars = "▁▂▃▄▅▆▇█";

/** Shares from 0 to 1, one character each. */
export function sparkline(shares: readonly number[]): string {
  return shares.map((share) => bars[Math.min(7, Math.floor(Math.max(0, share) * 8))]).join("");
}

function dim(text: string): string {
  return styleText("dim", text);
}

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
  /** The last limit that was crossed. */
  readonly watch: WatchRecord | null;
  readonly result: RunResult | null;
}

/** The state that a screen shows of a run, reduced from its events. */
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
  watch: null,
  failed: 0,
  unrewarded: 0,
  unjudged: 0,
  services: {},
  result: null,
};

/** Steps that the time left is estimated from. */
const window = 20;

export function evaluationPhase({ team, done, tasks }: EvaluationProgress): string {
  return `evaluating ${team}, ${done} of ${showTasks(tasks)}`;
}

type EvaluationProgress = Omit<Extract<TrainEvent, { type: "evaluation-progress" }>, "type">;

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
      return { ...state, phase: evaluationPhase(event) };
    case "evaluation":
      return {
        ...state,
        evaluation: event.evaluation,
        ...withLosses(state, event.evaluation),
      };
    case "finished":
      return { ...state, phase: "finished", result: event.result };
    case "watch":
      return { ...state, watch: event.record };
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
