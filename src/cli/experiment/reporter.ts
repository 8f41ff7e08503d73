/**
 * Shows an experiment in progress on standard error: a live panel on a terminal, otherwise one line per event. Events as
 * JSON lines go to standard output.
 */
import { styleText } from "node:util";
import type { ExperimentEvent, Undertaking } from "../../experiments/experiment.ts";
import type { Cell } from "../../experiments/grid.ts";
import type { CellNumbers } from "../../experiments/records.ts";
import { showCells } from "../../experiments/report/text.ts";
import { showLines, showDuration, showShare, showTasks } from "../../format.ts";
import { showWarning } from "../../recipes/validation/warnings.ts";
import { LiveRegion } from "../live.ts";
import { jsonLines, printNote } from "../print.ts";
import { engineChangedLine, evaluationLine, stageNames } from "../train/progress/lines.ts";
import {
  advance as advanceRun,
  noProgress,
  secondsLeft as secondsLeftOfRun,
  type ProgressState,
} from "../train/progress/panel.ts";

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

export interface ExperimentState {
  /** Cells of the whole experiment, and how many are done. */
  readonly cells: number;
  readonly done: number;
  readonly failed: number;
  readonly jobs: number;
  /** In the order in which they started. */
  readonly running: readonly { readonly cell: Cell; readonly run: ProgressState }[];
  /** Seconds that each cell took in this session. */
  readonly took: readonly { readonly cell: Cell; readonly seconds: number }[];
}

/** The state that a screen shows of an experiment, reduced from its events. */
const noExperiment: ExperimentState = { cells: 0, done: 0, failed: 0, jobs: 1, running: [], took: [] };

function advance(state: ExperimentState, event: ExperimentEvent): ExperimentState {
  switch (event.type) {
    case "planned":
      return { ...state, cells: event.cells, done: event.done, jobs: event.share.jobs };
    case "cell-waiting":
      return { ...state, running: state.running.filter(({ cell }) => cell !== event.cell) };
    case "cell-started":
      return { ...state, running: [...state.running, { cell: event.cell, run: noProgress }] };
    case "cell-progress":
      return {
        ...state,
        running: state.running.map((each) =>
          each.cell === event.cell ? { ...each, run: advanceRun(each.run, event.event) } : each,
        ),
      };
    case "cell-ended":
      return {
        ...state,
        running: state.running.filter(({ cell }) => cell !== event.cell),
        done: state.done + (event.end === "done" ? 1 : 0),
        failed: state.failed + (event.end === "failed" ? 1 : 0),
        took:
          event.end === "done" ? [...state.took, { cell: event.cell, seconds: event.seconds }] : state.took,
      };
  }
  return state;
}

/**
 * Seconds left, estimated from finished cells: a cell takes as long as those of its row and column, else of its row,
 * else as the mean of all. Null before the first is done.
 */
function secondsLeft({ took, jobs }: ExperimentState, left: readonly Cell[]): number | null {
  if (took.length === 0) return null;
  const mean = (alike: (cell: Cell) => boolean): number | null => {
    const found = took.filter(({ cell }) => alike(cell));
    return found.length === 0 ? null : found.reduce((sum, { seconds }) => sum + seconds, 0) / found.length;
  };
  const all = mean(() => true) ?? 0;
  const each = left.map(
    ({ row, column }) =>
      mean((cell) => cell.row === row && cell.column === column) ?? mean((cell) => cell.row === row) ?? all,
  );
  return each.reduce((sum, seconds) => sum + seconds, 0) / jobs;
}

/** `plan-path, team-shared, seed 1` */
function showCell({ column, row, seed }: Cell): string {
  return `${column}, ${row}, seed ${seed}`;
}

/** Plain lines for an event; most events have none. */
function linesOf(event: ExperimentEvent, state: ExperimentState): string[] {
  switch (event.type) {
    case "planned":
      return [plannedLine(event)];
    case "cell-waiting":
      return [`${showCell(event.cell)}: waiting for another process that writes its run`];
    case "cell-started":
      return [`${showCell(event.cell)}: started`];
    case "cell-progress":
      return progressLines(event, state);
    case "cell-ended":
      return [endedLine(event, state)];
  }
  return [];
}

function plannedLine({ cells, done, share }: Extract<ExperimentEvent, { type: "planned" }>): string {
  const { jobs, threads } = share;
  const how = `${jobs} at once with ${threads} ${threads === 1 ? "thread" : "threads"} each`;
  return cells === done
    ? `${showCells(cells)}, all done`
    : `${showCells(cells)}, ${done} done, ${cells - done} to do, ${how}`;
}

function progressLines(
  { cell, event }: Extract<ExperimentEvent, { type: "cell-progress" }>,
  state: ExperimentState,
): string[] {
  if (event.type === "resumed")
    return [`${showCell(cell)}: resumed after ${stageNames[event.stage]} ${event.stageStep}`];
  if (event.type === "warning") return [`${showCell(cell)}: ${showWarning(event)}`];
  if (event.type === "engine-changed") return [`${showCell(cell)}: ${engineChangedLine(event.changes)}`];
  if (event.type !== "evaluation") return [];
  const run = state.running.find((each) => each.cell === cell)?.run;
  return [`${showCell(cell)}: ${evaluationLine(event.evaluation, run?.steps)}`];
}

function endedLine(
  { cell, end, seconds, problem, numbers }: Extract<ExperimentEvent, { type: "cell-ended" }>,
  { done, cells }: ExperimentState,
): string {
  const name = showCell(cell);
  if (end === "interrupted") return `${name}: stopped`;
  if (end === "failed") return `${name}: failed: ${problem ?? "unknown reason"}`;
  const found = numbers === undefined ? "" : `${successText(numbers)}, `;
  return `${name}: done, ${found}${showDuration(seconds)}  [${done} of ${cells}]`;
}

function successText({ success, tasks }: CellNumbers): string {
  return `${showShare(success)} of ${showTasks(tasks)}`;
}

/** @param left seconds; null: not yet known */
function panelLines(state: ExperimentState, columns: number, left: number | null): string[] {
  const { done, cells, failed, running } = state;
  const label = [
    `${done} of ${cells} cells`,
    ...(failed > 0 ? [styleText("red", `${failed} failed`)] : []),
    ...(left === null ? [] : [`about ${showDuration(left)} left`]),
  ].join("  ");
  const names = Math.max(0, ...running.map(({ cell }) => showCell(cell).length));
  return [
    "",
    `${bar(done, cells, Math.max(10, Math.min(40, columns - 44)))} ${label}`,
    ...running.map(({ cell, run }) => `  ${showCell(cell).padEnd(names)}  ${runText(run)}`),
    styleText("dim", "Ctrl-C saves and stops; twice: at once"),
  ];
}

function runText(run: ProgressState): string {
  if (run.stage === null || run.phase.startsWith("evaluating")) return styleText("dim", run.phase);
  const left = secondsLeftOfRun(run);
  const success = run.successes.at(-1);
  return [
    `${bar(run.done, run.steps[run.stage], 16)} ${stageNames[run.stage]} ${run.done}/${run.steps[run.stage]}`,
    ...(success === undefined ? [] : [showShare(success)]),
    ...(left === null ? [] : [`${showDuration(left)} left`]),
  ].join("  ");
}

function bar(done: number, of: number, width: number): string {
  const full = of === 0 ? width : Math.round((width * Math.min(done, of)) / of);
  return `${styleText("green", "━".repeat(full))}${styleText("dim", "─".repeat(width - full))}`;
}
