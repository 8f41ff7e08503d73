/** The report of an audit: JSON with every number, Markdown, and one self-contained page. Made from the record alone. */
import { join } from "node:path";
import { colourAt, page } from "../charts/page.ts";
import { lineChart, type Chart } from "../charts/chart.ts";
import { element, type Child, type Markup } from "../charts/markup.ts";
import { figure, literal, markdownTable, panels, section } from "../charts/parts.ts";
import { rangeOf, roundTicks } from "../charts/scales.ts";
import { showCount, showShare } from "../format.ts";
import { makeDirectory, writeFileDurably } from "../runs/durable.ts";
import type { Interval } from "../statistics.ts";
import {
  auditSchema,
  type AgreementRecord,
  type AuditedRun,
  type AuditRecord,
  type CreditRecord,
} from "./records.ts";

const title = "Is the credit right?";

/** @param name of the files, without an ending. */
export async function writeAudit(
  given: AuditRecord,
  folder: string,
  name: string,
): Promise<readonly string[]> {
  const record = auditSchema.parse(given);
  const files = {
    [`${name}.json`]: `${JSON.stringify(record, shortened)}\n`,
    [`${name}.md`]: markdownOf(record, `${name}.html`),
    [`${name}.html`]: htmlOf(record),
  };
  await makeDirectory(folder);
  for (const [file, text] of Object.entries(files)) await writeFileDurably(join(folder, file), text);
  return Object.keys(files).map((file) => join(folder, file));
}

/** More digits than any estimate has. */
function shortened(_: string, value: unknown): unknown {
  return typeof value === "number" ? Number(value.toPrecision(5)) : value;
}

// Tables, for people and for both pages.

export interface AuditTable {
  readonly titles: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

/** Every credit over all decisions. */
export function agreementTable({ credits }: AuditedRun): AuditTable {
  const titles = ["credit", "decisions", "r", "r corrected", "Kendall's τ", "right sign", "worth of a unit"];
  const rows = credits.flatMap(({ name, slices: [whole] }) => {
    if (whole === undefined) return [];
    const { groups, pearson, corrected, kendall, sign, slope } = whole.agreement;
    return [
      [
        name,
        showCount(groups),
        ...[pearson, corrected, kendall].map((one) => showEstimate(one)),
        showEstimate(sign, showShare),
        showEstimate(slope),
      ],
    ];
  });
  return {
    titles,
    rows: [["a perfect credit", "", twoDecimals(ceilingOf(credits)), "1.00", "", "", ""], ...rows],
  };
}

/** r corrected, by role, by turn, and by both. Empty tables are left out. */
export function sliceTables({ credits }: AuditedRun): readonly AuditTable[] {
  const kinds: readonly ((slice: Slice) => boolean)[] = [
    ({ role, turn }) => role !== undefined && turn === undefined,
    ({ role, turn }) => role === undefined && turn !== undefined,
    ({ role, turn }) => role !== undefined && turn !== undefined,
  ];
  return kinds.flatMap((isOfKind) => {
    const shown = credits[0]?.slices.filter(isOfKind) ?? [];
    if (shown.length === 0) return [];
    const rows = credits.map(({ name, slices }) => [
      name,
      ...slices.filter(isOfKind).map(({ agreement }) => showEstimate(agreement.corrected)),
    ]);
    const counts = ["decisions", ...shown.map(({ agreement }) => showCount(agreement.groups))];
    const ceilings = [
      "r of a perfect credit",
      ...shown.map((slice) => twoDecimals(ceilingAt(credits, slice))),
    ];
    return [{ titles: ["credit", ...shown.map(sliceName)], rows: [counts, ceilings, ...rows] }];
  });
}

type Slice = CreditRecord["slices"][number];

function sliceName({ role, turn }: Slice): string {
  return [role, turn === undefined ? undefined : `turn ${turn + 1}`]
    .filter((part) => part !== undefined)
    .join(", ");
}

/** Of all continuations: that of a credit which every candidate has. References are compared with some of them only. */
function ceilingOf(credits: AuditedRun["credits"]): number | null {
  return ofMostCandidates(credits, () => true)?.ceiling ?? null;
}

function ceilingAt(credits: AuditedRun["credits"], { role, turn }: Slice): number | null {
  return ofMostCandidates(credits, (slice) => slice.role === role && slice.turn === turn)?.ceiling ?? null;
}

function ofMostCandidates(
  credits: AuditedRun["credits"],
  isMeant: (slice: Slice) => boolean,
): AgreementRecord | undefined {
  const agreements = credits
    .filter(({ kind }) => kind !== "continuations")
    .flatMap(({ slices }) =>
      slices
        .filter(isMeant)
        .slice(0, 1)
        .map(({ agreement }) => agreement),
    );
  return agreements.toSorted((one, other) => other.candidates - one.candidates)[0];
}

function showEstimate(
  { value, interval }: { readonly value: number | null; readonly interval: Interval | null },
  show: (value: number) => string = twoDecimals,
): string {
  if (value === null) return "–";
  return interval === null ? show(value) : `${show(value)} (${show(interval.low)} to ${show(interval.high)})`;
}

function twoDecimals(value: number | null): string {
  // Rewards near the largest number have squares that are none.
  return value === null || !Number.isFinite(value) ? "–" : value.toFixed(2).replace("-", "−");
}

// Sentences, for both pages.

const lead =
  "Decisions of a training step were continued many times with the weights of a checkpoint. The true value of a candidate, one of " +
  "the actions that a role sampled in one state, is the mean final score of these episodes; the roles that act at the same time " +
  "and everything later are sampled again, with the same random keys for all candidates of a decision. Nothing is chosen " +
  "on the way.";

const legend =
  "All numbers are about differences between candidates of the same decision, with 95 % intervals from leaving out one episode at a time. " +
  "r: correlation of credit and estimated value. A perfect credit would not have 1, because the estimate is noisy; r corrected is r " +
  "divided by what a perfect credit would have, and may exceed 1 by chance. Right sign: of the candidates that are clearly better or worse than their siblings, " +
  "those whose credit says so; a credit of 0 counts half, so that 50 % is chance. Worth of a unit: the score that one unit of credit stands " +
  "for, 1 for a credit in units of the score without noise of its own. “One continuation” and “half of the continuations” are the mean " +
  "score of so many, minus the siblings', compared with the other continuations: an unbiased credit with that much noise. Algorithms other than the run's are applied with " +
  "their default options (c3 with `continued: tree`) to the episodes as the run sampled them; where trajectories branch below an action, those that compare " +
  "trajectories take the first.";

const sliceLegend =
  "r corrected, by role and turn. Without an interval: too few episodes, or values too close, for one.";

const calibrationLegend =
  "Candidates with similar credit together: mean credit across, mean value up, both minus the decision's mean. A useful credit rises.";

export function factsOf(run: AuditedRun): string[] {
  const { decisions, failed, unpaired, played } = run;
  const weights =
    run.sameWeights === run.candidates
      ? "exactly the weights that sampled them"
      : `not the weights that sampled them: those sampled ${showCount(run.sameWeights)} of ${showCount(run.candidates)} candidates`;
  return [
    `${showCount(decisions.audited)} decisions of step ${run.step} with ${showCount(run.candidates)} candidates, spread over roles and turns; ` +
      `of ${showCount(decisions.found)} recorded decisions with several candidates, ${showCount(decisions.same)} had equal ones and were left out.`,
    `${run.continuations} continuations of each candidate at temperature ${run.temperature}, seed ${run.seed}, with the checkpoint after step ` +
      `${run.checkpoint}: ${weights}.`,
    failed === 0
      ? `${showCount(played)} episodes were played; none failed.`
      : `${showCount(failed)} of ${showCount(played)} episodes failed because of a service and have no score; ${showCount(unpaired)} more were left out ` +
        `because they had nothing to be compared with, and ${showCount(decisions.lost)} decisions were lost. The first failure: ${run.problem ?? ""}`,
    ...omittedLines(run.omitted),
  ];
}

/** A line for each reason. */
function omittedLines(omitted: AuditedRun["omitted"]): string[] {
  const byReason = Map.groupBy(omitted, ({ name, reason }) => reason.replace(`${name} `, ""));
  return [...byReason].map(
    ([reason, alike]) => `Not computed: ${alike.map(({ name }) => name).join(", ")} (${reason}).`,
  );
}

function headingOf({ run, environment, algorithm, judge }: AuditedRun): string {
  return `${run}: ${environment}, ${algorithm}${judge === undefined ? "" : `, judge ${judge}`}`;
}

// The pages.

function markdownOf(record: AuditRecord, html: string): string {
  const parts = [
    `# ${title}`,
    lead,
    legend,
    `The same with calibration curves: [${html}](${html}).`,
    ...record.runs.flatMap((run) => [
      `## ${literal(headingOf(run))}`,
      factsOf(run)
        .map((fact) => `- ${literal(fact)}`)
        .join("\n"),
      tableText(agreementTable(run)),
      ...sliceTables(run).flatMap((table, index) => [
        ...(index === 0 ? [sliceLegend] : []),
        tableText(table),
      ]),
    ]),
    "## How it was made",
    "```\n" + record.command + "\n```",
  ];
  return `${parts.join("\n\n")}\n`;
}

function tableText({ titles, rows }: AuditTable): string {
  return markdownTable(
    titles,
    rows.map(([name = "", ...numbers]) => [literal(name), ...numbers]),
  );
}

function htmlOf(record: AuditRecord): string {
  return page(
    title,
    element("h1", {}, title),
    element("p", { class: "lead" }, lead),
    element("p", { class: "note" }, legend),
    record.runs.map((run) => [
      section(
        headingOf(run),
        "",
        element(
          "ul",
          { class: "note" },
          factsOf(run).map((fact) => element("li", {}, fact)),
        ),
        tableCard(agreementTable(run)),
      ),
      section("By role and turn", sliceLegend, sliceTables(run).map(tableCard)),
      section("Calibration", calibrationLegend, panels(calibrations(run))),
    ]),
    section("How it was made", "", element("div", { class: "card" }, element("pre", {}, record.command))),
  );
}

function tableCard({ titles, rows }: AuditTable): Markup {
  const head = titles.map((name, index) =>
    element("th", { scope: "col", class: index > 0 ? "right" : undefined }, name),
  );
  const body = rows.map(([name = "", ...numbers]) =>
    element(
      "tr",
      {},
      element("th", { scope: "row" }, name),
      numbers.map((cell) => element("td", { class: "right" }, ...estimateParts(cell))),
    ),
  );
  const parts = [element("thead", {}, element("tr", {}, head)), element("tbody", {}, body)];
  return element("div", { class: "card" }, element("div", { class: "scroll" }, element("table", {}, parts)));
}

/** The interval is smaller than its number. */
function estimateParts(cell: string): Child[] {
  const start = cell.indexOf(" (");
  if (start === -1) return [cell];
  return [cell.slice(0, start), element("span", { class: "range" }, cell.slice(start + 2, -1))];
}

function calibrations({ credits }: AuditedRun): Markup[] {
  return credits.flatMap(({ name, kind, slices }) => {
    const bins = slices[0]?.agreement.bins ?? [];
    if (kind === "continuations" || bins.length < 2) return [];
    return [figure(name, "calibration", calibrationChart(name, bins))];
  });
}

function calibrationChart(name: string, bins: AgreementRecord["bins"]): Chart {
  const x = rangeOf(bins.map(({ credit }) => credit));
  const y = rangeOf([
    0,
    ...bins.flatMap(({ value, interval }) => [value, interval?.low ?? value, interval?.high ?? value]),
  ]);
  const ticks = (range: typeof x) => roundTicks(range, 4).map((at) => ({ at, label: String(at) }));
  const points = bins.map(({ candidates, credit, value, interval }) => ({
    x: credit,
    y: value,
    ...(interval === null ? {} : { interval }),
    tip: `${candidates} candidates: credit ${twoDecimals(credit)}, value ${twoDecimals(value)}`,
  }));
  return lineChart({
    spoken: `${name}: value against credit`,
    x: { title: "credit", range: x, ticks: ticks(x) },
    y: { title: "value", range: y, ticks: ticks(y) },
    lines: [{ name, colour: colourAt(0), points }],
    intervals: "whiskers",
  });
}
