/**
 * Runs an experiment: finds finished cells, runs the others, and updates the report after every cell. It can be killed
 * at any moment; the same call resumes.
 */
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { isPresentSync } from "../present.ts";
import { makeDirectory, writeFileDurably } from "../runs/durable.ts";
import { isLocked } from "../runs/lock.ts";
import type { TrainEvent } from "../train/events.ts";
import type { ChildOutcome, StartTroupe } from "./child.ts";
import { runChild } from "./child.ts";
import type { Call } from "./command.ts";
import { commandLine, wholeCommand } from "./command.ts";
import { isRun } from "./counts.ts";
import type { Folders } from "./folders.ts";
import { evaluationFile, foldersIn } from "./folders.ts";
import type { Cell, Grid } from "./grid.ts";
import { expand, needsOf } from "./grid.ts";
import type { Share } from "./jobs.ts";
import { shareOf } from "./jobs.ts";
import { Ledger } from "./ledger.ts";
import type { Experiment } from "./load.ts";
import { parseEvaluation } from "./numbers.ts";
import type { CellNumbers, ReportRecord } from "./records.ts";
import { readReport } from "./records.ts";
import { checkRequirements } from "./requirements.ts";
import { reportFiles, writeReport } from "./report/write.ts";
import type { End } from "./schedule.ts";
import { runAll } from "./schedule.ts";
import { sessionOf } from "./session.ts";
import { argumentsOf } from "./start.ts";

/** The call with its experiment. */
export interface ExperimentOptions extends Call {
  readonly experiment: Experiment;
  /** JSON of an earlier report whose cells count as done; default: the one in the report's folder. */
  readonly from?: string | undefined;
}

/** The plan of what is left to do. */
export interface Undertaking {
  readonly options: ExperimentOptions;
  readonly grid: Grid;
  readonly seeds: readonly number[];
  readonly folders: Folders;
  readonly share: Share;
  readonly ledger: Ledger;
  /** Cells to run, each after those it needs. */
  readonly todo: readonly Cell[];
  /** Requested places of the table. */
  readonly results: number;
  /** Requested cells and what they need, without those that take no process. */
  readonly wanted: readonly Cell[];
  readonly previous: ReportRecord | null;
}

export type ExperimentEvent =
  | { readonly type: "planned"; readonly cells: number; readonly done: number; readonly share: Share }
  | { readonly type: "cell-started"; readonly cell: Cell }
  /** Another process is writing the cell's run. */
  | { readonly type: "cell-waiting"; readonly cell: Cell }
  | { readonly type: "cell-progress"; readonly cell: Cell; readonly event: TrainEvent }
  | {
      readonly type: "cell-ended";
      readonly cell: Cell;
      readonly end: End;
      readonly problem?: string;
      readonly numbers?: CellNumbers;
      readonly seconds: number;
    };

/** @throws TroupeError `bad_recipe`, `bad_run` */
export async function plan(options: ExperimentOptions): Promise<Undertaking> {
  const { experiment } = options;
  await checkRequirements(experiment.definition);
  const previous = previousReport(options);
  const asked = options.seeds ?? experiment.definition.seeds;
  const seeds = [...new Set([...asked, ...(previous?.seeds ?? [])])].toSorted((left, right) => left - right);
  const grid = await expand(experiment, seeds);
  const folders = foldersIn(options.runs);
  const places = askedFor(grid, options, asked);
  const cells = places.map(({ cell }) => cell);
  const wanted = withNeeds(grid, cells).filter(isRun);
  const share = shareOf(wanted, options.jobs);
  const ledger = new Ledger(experiment, grid, folders, sessionOf(commandLine(options), share), previous);
  await ledger.readAll();
  const missing = cells.filter((cell) => !ledger.isKnown(cell));
  const todo = withNeeds(grid, missing, (cell) => !ledger.isOnDisk(cell)).filter(isRun);
  const results = places.length;
  return { options, grid, seeds, folders, share, ledger, todo, results, wanted, previous };
}

function askedFor(
  grid: Grid,
  { rows, columns }: ExperimentOptions,
  seeds: readonly number[],
): Grid["places"] {
  return grid.places.filter(
    ({ row, column, seed }) =>
      seeds.includes(seed) && (rows?.includes(row) ?? true) && (columns?.includes(column) ?? true),
  );
}

function previousReport({ experiment, report, from }: ExperimentOptions): ReportRecord | null {
  const file = from ?? reportFiles(report, experiment.definition.name).json;
  return from === undefined && !isPresentSync(file) ? null : readReport(file);
}

/** The cells and everything they need; the search stops at cells that `isOpen` rejects. */
function withNeeds(grid: Grid, cells: readonly Cell[], isOpen: (cell: Cell) => boolean = () => true): Cell[] {
  const found = new Set<Cell>();
  const visit = (cell: Cell): void => {
    if (found.has(cell) || !isOpen(cell)) return;
    found.add(cell);
    needsOf(cell).forEach(visit);
  };
  cells.forEach(visit);
  return grid.cells.filter((cell) => found.has(cell));
}

/** Runs what is left and writes the report. Returns every started cell and how it ended. */
export async function run(
  undertaking: Undertaking,
  launch: StartTroupe,
  stop: AbortSignal,
  emit: (event: ExperimentEvent) => void,
): Promise<{ readonly ended: ReadonlyMap<Cell, End>; readonly report: ReportRecord }> {
  const { todo, share, wanted } = undertaking;
  // Fails before the first cell if the report cannot be written.
  await writeCurrent(undertaking);
  emit({ type: "planned", cells: wanted.length, done: wanted.length - todo.length, share });
  const runner = { undertaking, launch, stop, emit };
  const ended = await runAll({
    items: todo,
    needs: needsOf,
    jobs: share.jobs,
    stop,
    run: (cell) => runCell(cell, runner),
  });
  return { ended, report: await writeCurrent(undertaking) };
}

/** Writes the report of everything known now. */
export async function writeCurrent({ options, ledger, seeds, grid }: Undertaking): Promise<ReportRecord> {
  for (const cell of grid.cells) if (!ledger.isKnown(cell)) await ledger.read(cell);
  const own = options.experiment.definition.seeds;
  const report = ledger.report(wholeCommand(options, seeds, own), seeds);
  await writeReport(report, options.report);
  return report;
}

interface Runner {
  readonly undertaking: Undertaking;
  readonly launch: StartTroupe;
  readonly stop: AbortSignal;
  readonly emit: (event: ExperimentEvent) => void;
}

async function runCell(cell: Cell, runner: Runner): Promise<End> {
  const { emit, undertaking } = runner;
  const start = performance.now();
  const ended = await endOf(cell, runner);
  const numbers = ended === "done" ? await undertaking.ledger.readOwn(cell) : null;
  const end = ended === "done" && numbers === null ? "failed" : ended;
  const problem = undertaking.ledger.problemOf(cell);
  emit({
    type: "cell-ended",
    cell,
    end,
    seconds: (performance.now() - start) / 1000,
    ...(problem === undefined ? {} : { problem }),
    ...(numbers === null ? {} : { numbers }),
  });
  if (end !== "interrupted") await inTurn(() => writeCurrent(undertaking));
  return end;
}

/** Another experiment may start the same cell at the same moment: its result counts here too. */
async function endOf(cell: Cell, runner: Runner): Promise<End> {
  for (;;) {
    await untilFree(cell, runner);
    if (runner.stop.aborted) return "interrupted";
    const end = await startedCell(cell, runner);
    if (end !== "in-use") return end;
    // Of two simultaneous attempts both may be rejected.
    await sleep(1000 * Math.random());
  }
}

async function startedCell(cell: Cell, runner: Runner): Promise<ChildOutcome["status"]> {
  runner.emit({ type: "cell-started", cell });
  try {
    return await inChild(cell, runner);
  } catch (error) {
    runner.undertaking.ledger.fail(cell, (error as Error).message);
    return "failed";
  }
}

/** Trainings of a recently killed experiment end after their step; those of another experiment continue. */
async function untilFree(cell: Cell, { undertaking, stop, emit }: Runner): Promise<void> {
  const directory = undertaking.folders.of(cell);
  if (!(await isLocked(directory))) return;
  emit({ type: "cell-waiting", cell });
  while (!stop.aborted && (await isLocked(directory))) await sleep(200);
}

async function inChild(
  cell: Cell,
  { undertaking, launch, stop, emit }: Runner,
): Promise<ChildOutcome["status"]> {
  const { folders, share, ledger } = undertaking;
  const outcome = await runChild({
    launch,
    arguments: await argumentsOf(cell, folders, share.threads),
    onEvent: (event) => emit({ type: "cell-progress", cell, event }),
    stop,
  });
  if (outcome.status === "failed") ledger.fail(cell, outcome.problem);
  if (outcome.status === "done" && cell.kind === "evaluate")
    await keepEvaluation(folders.of(cell), outcome.stdout);
  return outcome.status;
}

async function keepEvaluation(directory: string, printed: string): Promise<void> {
  const evaluation = parseEvaluation(printed, "what the evaluation printed");
  await makeDirectory(directory);
  await writeFileDurably(
    path.normalize(evaluationFile(directory)),
    `${JSON.stringify(evaluation, null, 2)}\n`,
  );
}

/** Reports are written one after the other, so that the last one is the newest. */
let last: Promise<unknown> = Promise.resolve();
function inTurn<Value>(work: () => Promise<Value>): Promise<Value> {
  const next = last.then(work);
  last = next.catch(() => {});
  return next;
}
