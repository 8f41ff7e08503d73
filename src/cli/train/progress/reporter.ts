/** Shows a run in progress: a live panel on a terminal, otherwise one line per step, or events as JSON lines. */
import type { Engine } from "../../../engines/engine.ts";
import { showDuration, showLines } from "../../../format.ts";
import { showWarning } from "../../../recipes/validation/warnings.ts";
import type { Listener, TrainEvent } from "../../../train/events.ts";
import { showSilence } from "../../../train/interrupts.ts";
import { LiveRegion } from "../../live.ts";
import { jsonLines, printNote } from "../../print.ts";
import { guideLines } from "./final.ts";
import { engineChangedLine, evaluationLine, sampleLines, stageNames, stepLine, watchLine } from "./lines.ts";
import {
  panelLines,
  advance,
  evaluationPhase,
  noProgress,
  secondsLeft,
  type ProgressState,
} from "./panel.ts";

export interface Reporter {
  readonly listen: Listener;
  /** A line of the command itself, such as how to resume. */
  readonly note: (line: string) => void;
  /** The panel shows this engine's memory and the load of its servers from now on. */
  readonly watch?: (engine: Watched) => void;
  readonly close: () => void;
}

type Watched = Pick<Engine, "load" | "processMemory">;

export type ReportMode = "json" | "live" | "lines" | "quiet";

export interface ReportOptions {
  readonly mode: ReportMode;
  /** Explain each stage. */
  readonly guide?: boolean;
}

/** Events go to standard output as JSON; what is for people goes to standard error. */
export function makeReporter({ mode, guide = false }: ReportOptions, { stdout, stderr }: Streams): Reporter {
  if (mode === "json") return jsonReporter(stdout);
  if (mode === "live") return liveReporter(stderr, guide);
  return lineReporter(stderr, mode === "quiet" ? secondsBetweenLines.quiet : secondsBetweenLines.warmStart, {
    isQuiet: mode === "quiet",
    guide,
  });
}

type Streams = Pick<NodeJS.Process, "stdout" | "stderr">;

function jsonReporter(stdout: NodeJS.WriteStream): Reporter {
  return {
    listen: (event) => {
      // Only the panel shows the current activity; as lines it would be most of the output.
      if (event.type === "phase" || event.type === "evaluation-progress") return;
      stdout.write(jsonLines(event));
    },
    note: printNote,
    close: () => {},
  };
}

/** Sample episodes are shown with evaluations and at intervals, not with each step. */
const stepsBetweenSamples = 10;

/** Least time between lines about steps: of a warm start, whose steps are short, and of all in quiet mode; and in evaluations. */
const secondsBetweenLines = { warmStart: 2, quiet: 10, evaluation: 10 } as const;

interface Lines {
  /** No sample episodes. */
  readonly isQuiet: boolean;
  readonly guide: boolean;
}

function lineReporter(out: NodeJS.WriteStream, seconds: number, { isQuiet, guide }: Lines): Reporter {
  let state = noProgress;
  let shownAt = -Infinity;
  let evaluatedAt = -Infinity;
  let untilFirst: NodeJS.Timeout | undefined;
  const note = (line: string): void => {
    out.write(`${showLines(line)}\n`);
  };
  /** The first and the last step of a stage are always shown. */
  const isShown = ({ metrics: { stage, stageStep } }: StepEvent): boolean => {
    if (stage === "reinforcement" && !isQuiet) return true;
    const isEnd = stageStep === 1 || stageStep === state.steps[stage];
    const now = performance.now();
    if (!isEnd && now - shownAt < 1000 * seconds) return false;
    shownAt = now;
    return true;
  };
  /** An evaluation may take minutes, also until its first task is done, and its lines come at its end. */
  const noteEvaluation = (event: TrainEvent): void => {
    const now = performance.now();
    if (event.type.startsWith("evaluation")) clearTimeout(untilFirst);
    if (event.type === "evaluation-started") {
      evaluatedAt = now;
      const noteStart = (): void => note(evaluationPhase({ ...event, done: 0 }));
      untilFirst = setTimeout(noteStart, 1000 * secondsBetweenLines.evaluation).unref();
    }
    if (event.type !== "evaluation-progress" || now - evaluatedAt < 1000 * secondsBetweenLines.evaluation)
      return;
    evaluatedAt = now;
    note(evaluationPhase(event));
  };
  return {
    listen: (event) => {
      state = advance(state, event);
      noteEvaluation(event);
      const isSample = event.type === "sample-episodes" || event.type === "preview";
      if (isQuiet && isSample) return;
      const lines = [...(guide ? guideLines(event) : []), ...linesOf(event, state)];
      if (event.type === "step" && isShown(event)) lines.push(stepLineOf(event, state));
      for (const line of lines) note(line);
    },
    note,
    close: () => clearTimeout(untilFirst),
  };
}

function liveReporter(out: NodeJS.WriteStream, guide: boolean): Reporter {
  let state = noProgress;
  let engine: Watched = {};
  const region = new LiveRegion(out);
  const draw = (): void => {
    const memory = { own: process.memoryUsage.rss(), engine: engine.processMemory };
    if (state.run === "") return;
    region.update(panelLines(state, out.columns || 80, memory, engine.load));
  };
  const timer = setInterval(draw, 250);
  // A second Ctrl-C ends the process at once; the cursor must still be shown again.
  const leave = (): void => region.close();
  out.on("resize", draw);
  process.on("exit", leave);
  return {
    listen: (event) => {
      state = advance(state, event);
      const lines = [...(guide ? guideLines(event) : []), ...linesOf(event, state)];
      if (lines.length > 0) region.print(lines.map(showLines));
    },
    note: (line) => region.print([showLines(line)]),
    watch: (watched) => (engine = watched),
    close: () => {
      clearInterval(timer);
      out.off("resize", draw);
      process.off("exit", leave);
      region.close();
    },
  };
}

type StepEvent = Extract<TrainEvent, { type: "step" }>;

function stepLineOf({ metrics, timing }: StepEvent, state: ProgressState): string {
  return stepLine(metrics, timing, state.steps[metrics.stage], secondsLeft(state));
}

/** Lines that stay on the screen, whether there is a panel or not. */
function linesOf(event: TrainEvent, state: ProgressState): string[] {
  switch (event.type) {
    case "run-started":
      return [`run ${event.run}: ${event.engine}`, ...event.policies.map(policyLine)];
    case "warning":
      return [showWarning(event)];
    case "watch":
      return [watchLine(event.record, state.steps)];
    case "judge-paused":
      return [`judging ${event.notice}`];
    case "server-silent":
      return [`${showSilence(event)}; trying again`];
    case "server-answers":
      return [`${event.server} answers again, after ${showDuration(event.seconds)}`];
    case "resumed":
      return [`resumed after ${stageNames[event.stage]} ${event.stageStep}`];
    case "engine-changed":
      return [engineChangedLine(event.changes)];
    case "evaluation":
      return [evaluationLine(event.evaluation, state.steps)];
    case "sample-episodes":
      return showsSamples(event.step, state) ? event.episodes.slice(0, 1).flatMap(sampleLines) : [];
    case "preview":
      return event.episodes.flatMap((episode) => [
        event.step === 0 ? "untrained:" : `after ${event.step} steps of warm start:`,
        ...sampleLines(episode),
      ]);
    case "finished":
      return event.alreadyDone
        ? ["the run is already finished; --fresh starts a new one, train.steps=N --extend trains it further"]
        : [];
    default:
      return [];
  }
}

function showsSamples(step: number, state: ProgressState): boolean {
  const atEvaluation = state.phase.startsWith("evaluating");
  return atEvaluation || (step - state.steps["warm-start"]) % stepsBetweenSamples === 1;
}

function policyLine(policy: Extract<TrainEvent, { type: "run-started" }>["policies"][number]): string {
  const { name, parameters, trainableParameters, trained } = policy;
  const share =
    trainableParameters === parameters
      ? ""
      : `, ${trainableParameters.toLocaleString("en-US")} of them trained`;
  return `policy ${name}: ${parameters.toLocaleString("en-US")} parameters${trained ? share : ", not trained"}`;
}
