/**
 * Shows an experiment in progress on standard error: a live panel on a terminal, otherwise one line per event. Events as
 * JSON lines go to standard output.
 */
import type { ExperimentEvent, Undertaking } from "../../experiments/experiment.ts";
import { showLines } from "../../format.ts";
import { LiveRegion } from "../live.ts";
import { jsonLines, printNote } from "../print.ts";
import { linesOf, panelLines } from "./lines.ts";
import { advance, noExperiment, secondsLeft } from "./state.ts";

export interface Reporter {
  readonly listen: (event: ExperimentEvent) => void;
  readonly note: (line: string) => void;
  readonly close: () => void;
}

export function makeReporter(
  mode: "json" | "live" | "lines",
  { stdout, stderr }: Pick<NodeJS.Process, "stdout" | "stderr">,
  plan: Undertaking,
): Reporter {
  if (mode === "json") return jsonReporter(stdout);
  return mode === "live" ? liveReporter(stderr, plan) : lineReporter();
}

function jsonReporter(stdout: NodeJS.WriteStream): Reporter {
  return {
    listen: (event) => {
      if (event.type === "cell-progress") return;
      stdout.write(jsonLines(plainEvent(event)));
    },
    note: printNote,
    close: () => {},
  };
}

/** A cell by its place: its recipe is in its run's folder. */
function plainEvent(event: ExperimentEvent): object {
  if (!("cell" in event)) return event;
  const { row, column, seed, hash } = event.cell;
  return { ...event, cell: { row, column, seed, hash } };
}

function lineReporter(): Reporter {
  let state = noExperiment;
  return {
    listen: (event) => {
      state = advance(state, event);
      linesOf(event, state).forEach(printNote);
    },
    note: printNote,
    close: () => {},
  };
}

const redrawEvery = 500;

function liveReporter(stderr: NodeJS.WriteStream, { todo }: Undertaking): Reporter {
  const region = new LiveRegion(stderr);
  let state = noExperiment;
  const ended = new Set<unknown>();
  const draw = (): void => {
    const left = secondsLeft(
      state,
      todo.filter((cell) => !ended.has(cell)),
    );
    region.update(panelLines(state, stderr.columns, left));
  };
  const timer = setInterval(draw, redrawEvery);
  const leave = (): void => region.close();
  process.on("exit", leave);
  return {
    listen: (event) => {
      state = advance(state, event);
      if (event.type === "cell-ended") ended.add(event.cell);
      // The panel shows running cells; finished ones stay above it.
      const lines =
        event.type === "cell-started" || event.type === "cell-progress" ? [] : linesOf(event, state);
      if (lines.length > 0) region.print(lines.map(showLines));
    },
    note: (line) => region.print([showLines(line)]),
    close: () => {
      clearInterval(timer);
      process.off("exit", leave);
      region.close();
    },
  };
}
