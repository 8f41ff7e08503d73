/** `troupe experiment NAME`: a grid of trainings and evaluations, and its report. Repeating the command resumes. */
import { dirname, join } from "node:path";
import { Command, InvalidArgumentError } from "commander";
import { TroupeError } from "../../errors.ts";
import { defaultRuns } from "../../experiments/command.ts";
import { countsOfCells, countsOfRecord, type Counts } from "../../experiments/counts.ts";
import {
  plan,
  run,
  writeCurrent,
  type ExperimentOptions,
  type Undertaking,
} from "../../experiments/experiment.ts";
import { expand } from "../../experiments/grid.ts";
import { memoryAtOnce } from "../../experiments/jobs.ts";
import { loadExperiment, type Experiment } from "../../experiments/load.ts";
import { readReport, type ReportRecord } from "../../experiments/records.ts";
import { showCells, showCounts } from "../../experiments/report/text.ts";
import { reportFiles, writeReport, type ReportFiles } from "../../experiments/report/write.ts";
import { isThere } from "../../experiments/requirements.ts";
import { findExperiment, shippedExperiments } from "../../experiments/shipped.ts";
import { showBytes } from "../../format.ts";
import { didYouMean } from "../../nearest.ts";
import { showPath } from "../../recipes/tree.ts";
import { wholeNumber } from "../arguments.ts";
import { exitCodes, listenForStop } from "../exit.ts";
import { printJson, printJsonLine, printLines } from "../print.ts";
import { terminalWidth, withLastBelow, wrapped, tableLines } from "../table.ts";
import { makeReporter } from "./reporter.ts";

interface ExperimentArguments {
  readonly seeds?: readonly number[];
  readonly columns?: readonly string[];
  readonly rows?: readonly string[];
  readonly jobs?: number;
  readonly runs: string;
  readonly report?: string;
  readonly from?: string;
  readonly onlyReport?: boolean;
  readonly dryRun?: boolean;
  readonly json?: boolean;
}

export function experimentCommand(): Command {
  return new Command("experiment")
    .description(
      "run a grid of trainings and evaluations and write its report; without a name: list the included experiments",
    )
    .argument("[experiment]", "a name, an experiment's file, or a report's JSON to regenerate its pages")
    .option("--seeds <numbers>", "seeds to run, 1,2,3 (default: the experiment's)", seedList)
    .option("--columns <names>", "run these columns only", nameList)
    .option("--rows <names>", "run these rows only, and what they need", nameList)
    .option(
      "--jobs <number>",
      "concurrent cells (default: as many as cores and memory allow)",
      wholeNumber(1),
    )
    .option("--runs <folder>", "folder of the runs", defaultRuns)
    .option("--report <folder>", "folder of the report (default: that of the runs)")
    .option("--from <file>", "JSON of an earlier report: its cells count as done")
    .option("--only-report", "write the report without running anything")
    .option("--dry-run", "show the cells and what is left to do; write nothing")
    .option("--json", "print events as JSON lines (with --dry-run: one JSON document)")
    .action(async (given: string | undefined, options: ExperimentArguments) => {
      if (given === undefined) return list(options.json === true);
      if (given.endsWith(".json")) return remake(given, options);
      await undertake(given, options);
    });
}

async function undertake(given: string, options: ExperimentArguments): Promise<void> {
  const undertaking = await plan(checkedOptions(given, options));
  if (options.dryRun) return printPlan(undertaking, options.json === true);
  if (!options.onlyReport) return runAndReport(undertaking, options);
  const report = await writeCurrent(undertaking);
  printReport(filesOf(undertaking), report, options);
}

function printReport(files: ReportFiles, report: ReportRecord, { json }: ExperimentArguments): void {
  const counts = countsOfRecord(report, report.cells);
  if (json) void printJsonLine({ type: "report", files, ...counts });
  else printLines([`report: ${[files.html, files.markdown, files.json].map(showPath).join(", ")}`]);
}

function checkedOptions(given: string, options: ExperimentArguments): ExperimentOptions {
  const experiment = loadExperiment(findExperiment(given));
  const { rows, columns } = experiment.definition;
  checkNames("row", options.rows, Object.keys(rows));
  checkNames("column", options.columns, Object.keys(columns));
  return {
    ...options,
    given,
    experiment,
    report: options.report ?? options.runs,
  };
}

function checkNames(what: string, given: readonly string[] = [], known: readonly string[]): void {
  const wrong = given.find((name) => !known.includes(name));
  if (wrong === undefined) return;
  const hint = didYouMean(wrong, known) ?? `there are ${known.join(", ")}`;
  throw new TroupeError("bad_arguments", `the experiment has no ${what} ${wrong}; ${hint}`);
}

async function runAndReport(undertaking: Undertaking, options: ExperimentArguments): Promise<void> {
  const mode = options.json ? "json" : process.stderr.isTTY ? "live" : "lines";
  const reporter = makeReporter(mode, process, undertaking);
  memoryWarning(undertaking).forEach(reporter.note);
  using stopping = listenForStop(reporter.note);
  const { ended, report } = await run(undertaking, launch(), stopping.stop, reporter.listen).finally(
    reporter.close,
  );
  const open = undertaking.todo.filter((cell) => ended.get(cell) !== "done");
  const failed = open.filter((cell) => ended.get(cell) === "failed").length;
  printReport(filesOf(undertaking), report, options);
  if (stopping.stop.aborted) {
    reporter.note(`stopped with ${showCells(open.length)} left; the same command resumes`);
    process.exitCode = exitCodes.interrupted;
  } else if (failed > 0) {
    reporter.note(
      `${showCells(failed)} failed, ${open.length - failed} could not start; the same command retries them`,
    );
    process.exitCode = exitCodes.failure;
  }
}

/** How a cell is started: this command line with the same Node. */
function launch(): { command: string; arguments: readonly string[] } {
  const program = join(import.meta.dirname, "..", "..", "..", "bin", "troupe.js");
  return { command: process.execPath, arguments: [program] };
}

function filesOf({ options }: Undertaking): ReportFiles {
  return reportFiles(options.report, options.experiment.definition.name);
}

/** Regenerates the pages from the JSON alone. */
async function remake(file: string, options: ExperimentArguments): Promise<void> {
  const report = readReport(file);
  const { seeds, columns, rows, jobs, from, dryRun } = options;
  const unused = Object.entries({ seeds, columns, rows, jobs, from, "dry-run": dryRun }).find(
    ([, value]) => value !== undefined,
  );
  if (unused !== undefined)
    throw new TroupeError(
      "bad_arguments",
      `${showPath(file)} is a report, of which this command only makes the pages again: leave --${unused[0]} out, or name the experiment`,
    );
  printReport(await writeReport(report, options.report ?? dirname(file)), report, options);
}

async function list(json: boolean): Promise<void> {
  const listed = Object.values(shippedExperiments()).map(async (file) => {
    const experiment = loadExperiment(file);
    const { name, title = name, minutes = null, seeds } = experiment.definition;
    const counts = await countsOf(experiment, seeds);
    return { name, title, minutes, ...counts, file: showPath(file) };
  });
  const experiments = await Promise.all(listed);
  if (json) return printJson(experiments);
  const rows = experiments.map(({ name, title, minutes, results, trainings, evaluations }) => [
    name,
    results === null ? "" : String(results),
    results === null ? "" : String(trainings + evaluations),
    minutes === null ? "" : String(minutes),
    title,
  ]);
  const right = { align: "right" as const };
  const figures = ["results", "cells", "minutes"].map((title, index) => ({
    title,
    ...right,
    leftOut: index + 1,
  }));
  const columns = [{ title: "experiment" }, ...figures, { title: "compares" }];
  const legend =
    "results: rows × columns × seeds; cells: trainings and evaluations; minutes: wall-clock on two cores. " +
    "No figures: it needs models or data sets that are missing; running it says which";
  printLines([
    ...withLastBelow(columns, rows, terminalWidth()),
    "",
    ...wrapped(legend, Math.min(100, terminalWidth())),
  ]);
}

/** Null without what the experiment needs: its recipes cannot be resolved. */
async function countsOf(experiment: Experiment, seeds: readonly number[]): Promise<Counts | MissingCounts> {
  const unknown = { results: null, trainings: null, evaluations: null };
  const { requires } = experiment.definition;
  if (!requires.every(isThere)) return unknown;
  try {
    const { places, cells } = await expand(experiment, seeds);
    return countsOfCells(places.length, cells);
  } catch (error) {
    if (requires.length > 0 && error instanceof TroupeError) return unknown;
    throw error;
  }
}

type MissingCounts = Readonly<Record<keyof Counts, null>>;

function nameList(text: string): readonly string[] {
  const names = text.split(",").map((name) => name.trim());
  if (names.every((name) => name !== "")) return names;
  throw new InvalidArgumentError("Expected names separated by commas.");
}

function seedList(text: string): readonly number[] {
  const seeds = text.split(",").map((seed) => wholeNumber(0)(seed.trim()));
  const twice = seeds.find((seed, index) => seeds.indexOf(seed) !== index);
  if (twice === undefined) return seeds;
  throw new InvalidArgumentError(`The seed ${twice} is given twice.`);
}

/** `troupe experiment --dry-run`: what is left to do. Nothing runs and nothing is written. */
function printPlan({ results, wanted, todo, share, folders }: Undertaking, json: boolean): void {
  const cells = wanted.map((cell) => ({
    column: cell.column,
    row: cell.row,
    seed: cell.seed,
    does: cell.kind,
    hash: cell.hash,
    status: todo.includes(cell) ? "to do" : "done",
    folder: showPath(folders.of(cell)),
  }));
  const memory = memoryAtOnce(todo, share.jobs);
  if (json) return printJson({ results, cells, ...share, memory });
  const columns = ["column", "row", "seed", "does", "status", "folder"].map((title) => ({ title }));
  const rows = cells.map(({ column, row, seed, does, status, folder }) => [
    column,
    row,
    String(seed),
    does,
    status,
    folder,
  ]);
  printLines([
    ...tableLines(columns, rows),
    "",
    `${showCounts(countsOfCells(results, wanted))}, ${showCells(todo.length)} to do; ${share.jobs} at once with ${share.threads} ` +
      `${share.threads === 1 ? "thread" : "threads"} each, about ${showBytes(memory)} of memory. Nothing was written.`,
    ...memoryWarning({ todo, share }),
  ]);
}

/** A warning if the requested concurrent cells do not fit in free memory; otherwise nothing. */
function memoryWarning({ todo, share }: Pick<Undertaking, "todo" | "share">): string[] {
  const memory = memoryAtOnce(todo, share.jobs);
  const free = process.availableMemory();
  if (memory <= free) return [];
  const size = `about ${showBytes(memory)} of memory, and ${showBytes(free)} are free`;
  return [
    `warning: ${share.jobs} concurrent cells take ${size}; if the system kills some, use a smaller --jobs`,
  ];
}
