/** What an experiment prints as plain lines and in its live panel. */
import { styleText } from "node:util";
import type { ExperimentEvent } from "../../experiments/experiment.ts";
import type { Cell } from "../../experiments/grid.ts";
import { showCells } from "../../experiments/report/text.ts";
import type { CellNumbers } from "../../experiments/records.ts";
import { showWarning } from "../../recipes/validation/warnings.ts";
import { showDuration, showShare, showTasks } from "../../format.ts";
import { engineChangedLine, evaluationLine, stageNames } from "../progress/lines.ts";
import type { ProgressState } from "../progress/state.ts";
import { secondsLeft as secondsLeftOfRun } from "../progress/state.ts";
import type { ExperimentState } from "./state.ts";

/** `plan-path, team-shared, seed 1` */
function showCell({ column, row, seed }: Cell): string {
  return `${column}, ${row}, seed ${seed}`;
}

/** Plain lines for an event; most events have none. */
export function linesOf(event: ExperimentEvent, state: ExperimentState): string[] {
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
export function panelLines(state: ExperimentState, columns: number, left: number | null): string[] {
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
    styleText("dim", "Ctrl-C finishes the steps, saves and stops; twice: immediately"),
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
