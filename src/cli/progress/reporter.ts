/** Shows a run in progress: a live panel on a terminal, otherwise one line per step, or events as JSON lines. */
import { showWarning } from "../../recipes/validation/warnings.ts";
import type { Listener, TrainEvent } from "../../train/events.ts";
import { showLines } from "../../format.ts";
import { LiveRegion } from "../live.ts";
import { jsonLines } from "../print.ts";
import { engineChangedLine, evaluationLine, sampleLines, stageNames, stepLine } from "./lines.ts";
import { panelLines } from "./panel.ts";
import type { ProgressState } from "./state.ts";
import { advance, noProgress, secondsLeft } from "./state.ts";

export interface Reporter {
  readonly listen: Listener;
  /** A line of the command itself, such as how to resume. */
  readonly note: (line: string) => void;
  readonly close: () => void;
}

export function makeReporter(mode: "json" | "live" | "lines", stdout: NodeJS.WriteStream): Reporter {
  if (mode === "json") return jsonReporter(stdout);
  return mode === "live" ? liveReporter(stdout) : lineReporter(stdout);
}

function jsonReporter(stdout: NodeJS.WriteStream): Reporter {
  return {
    listen: (event) => {
      // Only the panel shows the current activity; as lines it would be most of the output.
      if (event.type === "phase" || event.type === "evaluation-progress") return;
      stdout.write(jsonLines(event));
    },
    note: (line) => process.stderr.write(`${showLines(line)}\n`),
    close: () => {},
  };
}

/** Sample episodes are shown with evaluations and at intervals, not with each step. */
const stepsBetweenSamples = 10;

function lineReporter(stdout: NodeJS.WriteStream): Reporter {
  let state = noProgress;
  const note = (line: string): void => {
    stdout.write(`${showLines(line)}\n`);
  };
  return {
    listen: (event) => {
      state = advance(state, event);
      for (const line of [...linesOf(event, state), ...stepLines(event, state)]) note(line);
    },
    note,
    close: () => {},
  };
}

function liveReporter(stdout: NodeJS.WriteStream): Reporter {
  let state = noProgress;
  const region = new LiveRegion(stdout);
  const draw = (): void => {
    const memory = process.memoryUsage.rss();
    if (state.run !== "") region.update(panelLines(state, stdout.columns || 80, memory));
  };
  const timer = setInterval(draw, 250);
  // A second Ctrl-C ends the process at once; the cursor must still be shown again.
  const leave = (): void => region.close();
  stdout.on("resize", draw);
  process.on("exit", leave);
  return {
    listen: (event) => {
      state = advance(state, event);
      const lines = linesOf(event, state);
      if (lines.length > 0) region.print(lines.map(showLines));
    },
    note: (line) => region.print([showLines(line)]),
    close: () => {
      clearInterval(timer);
      stdout.off("resize", draw);
      process.off("exit", leave);
      region.close();
    },
  };
}

function stepLines(event: TrainEvent, state: ProgressState): string[] {
  if (event.type !== "step") return [];
  const { metrics, timing } = event;
  return [stepLine(metrics, timing, state.steps[metrics.stage], secondsLeft(state))];
}

/** Lines that stay on the screen in both forms. */
function linesOf(event: TrainEvent, state: ProgressState): string[] {
  switch (event.type) {
    case "run-started":
      return [`run ${event.run}: ${event.engine}`, ...event.policies.map(policyLine)];
    case "warning":
      return [showWarning(event)];
    case "judge-paused":
      return [`judging ${event.notice}`];
    case "resumed":
      return [`resumed after ${stageNames[event.stage]} ${event.stageStep}`];
    case "engine-changed":
      return [engineChangedLine(event.changes)];
    case "evaluation":
      return [evaluationLine(event.evaluation, state.steps)];
    case "sample-episodes":
      return showsSamples(event.step, state) ? event.episodes.slice(0, 1).flatMap(sampleLines) : [];
    case "finished":
      return event.alreadyDone ? ["the run is already finished; --fresh starts a new one"] : [];
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
