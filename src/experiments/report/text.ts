/** Sentences and numbers shared by the Markdown and the HTML page. */
import { showCount, showDuration } from "../../format.ts";
import { areEqual, mean, meanInterval, type Interval } from "../../statistics.ts";
import type { Counts } from "../counts.ts";
import { ranIn } from "../counts.ts";
import { measureOf } from "../measures.ts";
import type { CellNumbers, MeasureRecord, ReportRecord, ReportSession } from "../records.ts";
import { shareInterval, type PairedDifference } from "../statistics.ts";
import type { Entry, Summary, SummaryCounts } from "./summary.ts";
import { differenceBetween, entryAt, spentOf, tasksOf } from "./summary.ts";

export function perCent(share: number): string {
  return (100 * share).toFixed(1);
}

export function showRange({ low, high }: Interval): string {
  return `${perCent(low)} to ${perCent(high)}`;
}

/** Null for the baseline itself, and where it has no seed in common. */
export function differenceOf(summary: Summary, entry: Entry): PairedDifference | null {
  const { baseline } = summary.record;
  if (baseline === undefined || baseline === entry.row) return null;
  const base = entryAt(summary, baseline, entry.column);
  return base === undefined ? null : differenceBetween(entry, base);
}

/** `+12.3 [+2.0 to +22.5]`: percentage points above the baseline in the same seeds. */
export function differenceText({ mean: points, interval }: PairedDifference): string {
  const range = interval === null ? "" : ` [${signed(interval.low)} to ${signed(interval.high)}]`;
  return `${signed(points)}${range}`;
}

function signed(share: number): string {
  return `${share < 0 ? "−" : "+"}${perCent(Math.abs(share))}`;
}

/** What is wrong with a place of the table: `failed`, `1 of 3 seeds`; empty if all seeds are done. */
export function incomplete({ seeds, failed, missing }: Entry): string {
  if (failed + missing === 0) return "";
  if (seeds.length === 0) return failed > 0 ? "failed" : "missing";
  return `${seeds.length} of ${seeds.length + failed + missing} seeds`;
}

/** `7 of 9 results available, 1 cell failed.`; empty if nothing is missing. */
export function incompleteText({ done, all, failed }: SummaryCounts): string {
  if (done.results === all.results && failed === 0) return "";
  return `${showCount(done.results)} of ${showOf(all.results, "result")} available, ${showCells(failed)} failed.`;
}

export function showCells(count: number): string {
  return showOf(count, "cell");
}

/** `24 results from 27 cells (18 trainings, 9 evaluations)` */
export function showCounts(counts: Counts): string {
  return `${showOf(counts.results, "result")} from ${showSources(counts)}`;
}

/** `27 cells (18 trainings, 9 evaluations)`; absent kinds are omitted. */
export function showSources({ trainings, evaluations }: Counts): string {
  const kinds = [
    ...(trainings === 0 ? [] : [showOf(trainings, "training")]),
    ...(evaluations === 0 ? [] : [showOf(evaluations, "evaluation")]),
  ];
  const cells = showCells(trainings + evaluations);
  return kinds.length === 0 ? cells : `${cells} (${kinds.join(", ")})`;
}

function showOf(count: number, what: string): string {
  return `${showCount(count)} ${count === 1 ? what : `${what}s`}`;
}

/** `held-out`, or the names of the splits that the cells were measured on. */
export function splitsOf(record: ReportRecord): string {
  const splits = record.cells.flatMap(({ numbers }) =>
    numbers === undefined ? [] : [numbers.split ?? "held-out"],
  );
  return [...new Set(splits)].join(" or ") || "held-out";
}

/** `1,000`, or `500 to 1,000` if cells differ. */
export function taskCount(record: ReportRecord): string {
  const tasks = record.cells.flatMap(({ numbers }) => numbers?.tasks ?? []);
  if (tasks.length === 0) return "0";
  const [least, most] = [Math.min(...tasks), Math.max(...tasks)];
  return least === most ? showCount(most) : `${showCount(least)} to ${showCount(most)}`;
}

export function seedsOf({ seeds }: ReportRecord): string {
  return `${seeds.length === 1 ? "seed" : "seeds"} ${seeds.join(", ")}`;
}

/**
 * How to read the numbers of the table.
 * @param titled shows the title of a row
 */
export function legend(summary: Summary, titled: (title: string) => string = (title) => title): string {
  const successes = summary.entries.flatMap(({ success }) => success ?? []);
  const overSeeds = successes.some(({ over }) => over === "seeds");
  const interval = overSeeds
    ? "mean over seeds with its 95 % interval (Student's t over the seeds' means, at least Wilson's over the tasks, cut at 0 and 100)"
    : "success with Wilson's 95 % interval over the tasks of the one seed";
  const single = overSeeds && successes.some(({ over }) => over === "tasks");
  return (
    `Success in per cent on ${taskCount(summary.record)} ${splitsOf(summary.record)} tasks, the same for every row and seed: ${interval}.` +
    (single ? " With only one seed the interval is Wilson's over its tasks." : "") +
    differenceLegend(summary, titled) +
    (overSeeds ? " Bold: clearly better than every other row of the column." : "")
  );
}

function differenceLegend({ record }: Summary, titled: (title: string) => string): string {
  const { baseline, rows, seeds, cells } = record;
  if (baseline === undefined) return "";
  const isPaired = cells.every(({ numbers }) => numbers === undefined || numbers.solved !== undefined);
  const paired = isPaired ? "paired" : "not paired: which ones were solved was not recorded";
  const title = rows.find(({ name }) => name === baseline)?.title ?? baseline;
  const range =
    seeds.length > 1
      ? `, in brackets its 95 % interval: chance of seeds (Student's t over their differences) and of tasks (${paired}) added. It is clear, and coloured, if that excludes 0`
      : "; seeds were not varied, so no difference is shown as clear";
  return ` After it the difference from “${titled(title)}” in the same seeds${range}.`;
}

/** How to read the table of measures. */
export function measuresLegend({ record }: Summary): string {
  const over =
    record.seeds.length === 1
      ? ""
      : ", mean over seeds with its 95 % interval (as that of success: seeds share the tasks, so each task counts once)";
  return (
    `Of the evaluation after training, in per cent unless stated otherwise${over}. Time of an episode while others ran ` +
    "concurrently. A dash: not measured, or nothing of the kind in the row."
  );
}

/** A measure in a place of the table: its mean over the seeds, and an interval if there is one. */
export function measureText({ numbers }: Entry, measure: MeasureRecord): string {
  const values = numbers.flatMap((each) => measureOf(each, measure) ?? []);
  if (values.length === 0) return "–";
  if (measure.value === "tokens") return showCount(Math.round(mean(values)));
  if (measure.value === "seconds" || measure.judge === "correlation") return mean(values).toFixed(2);
  const interval = measureInterval(numbers, measure, values);
  return interval === null ? perCent(mean(values)) : `${perCent(mean(values))} (${showRange(interval)})`;
}

/** Null: not known. Blame is counted in verdicts, whose number is not recorded. */
function measureInterval(
  numbers: readonly CellNumbers[],
  { passAt, judge }: MeasureRecord,
  values: readonly number[],
): Interval | null {
  if (values.length === 1) return numbers[0]?.passAt?.[String(passAt)] ?? null;
  if (judge !== "blame") return shareInterval(values, tasksOf(numbers));
  return areEqual(values) ? null : within(meanInterval(values));
}

function within(interval: Interval | null): Interval | null {
  return interval && { low: Math.max(0, interval.low), high: Math.min(1, interval.high) };
}

export function publishedLegend(source: string): string {
  return `${source}, in per cent. Other models and tasks: compare the pattern, not the numbers.`;
}

export const seedLegend =
  "The last column is Wilson's 95 % interval over the tasks, which all seeds share; it leaves out how much seeds differ.";

export const costLegend =
  "Per run, mean over seeds. Updates: optimizer steps of a policy; a batch whose groups all have zero variance " +
  "makes none. Tokens sampled in training, without evaluations. Tokens " +
  "trained by all policies. Time of one cell, evaluations included, while others ran concurrently.";

/** The total cost in two sentences. */
export function spentText({ record, counts }: Summary): string {
  const { added, atOnce } = spentOf(record);
  const sum = `${showCounts(counts.done)}. The times of these cells add up to ${showDuration(added)}`;
  if (atOnce === null || atOnce.most === 1) return `${sum}.`;
  const { least, most, seconds } = atOnce;
  const jobs = least === most ? `${most}` : `${least} to ${most}`;
  return `${sum}; with ${jobs} at once about ${showDuration(seconds)} of wall-clock time.`;
}

function sessionText(session: ReportSession): string {
  const { date, command, version, commit, processor, cores, jobs, threads } = session;
  const build = commit === null ? version : `${version}, commit ${commit}`;
  const at = `${showCells(jobs)} at once with ${threads} ${threads === 1 ? "thread" : "threads"} each`;
  return `${date}, ${command}: Troupe ${build}; ${processor}, ${cores} cores; ${at}`;
}

/** One line for each session, and one for cells without a known session. */
export function sessionTexts({ sessions, cells }: ReportRecord): string[] {
  const done = ranIn(cells.filter(({ status }) => status === "done"));
  const found = done.filter(({ session }) => session === undefined).length;
  const line = `${showCells(found)} found finished in the runs' folder`;
  return [...sessions.map(sessionText), ...(found === 0 ? [] : [line])];
}

/** Text with blank lines, as paragraphs. */
export function paragraphs(text: string): string[] {
  return text
    .split(/\n\s*\n/)
    .map((each) => each.replaceAll(/\s+/g, " ").trim())
    .filter((each) => each !== "");
}
