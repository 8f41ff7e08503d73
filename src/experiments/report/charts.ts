/** What a report's charts show. */
import {
  barChart,
  type Axis,
  type Chart,
  type Line,
  lineChart,
  shareTicks,
  stepAxis,
  type Size,
} from "../../charts/chart.ts";
import { colourAt } from "../../charts/page.ts";
import type { ReportRecord } from "../records.ts";
import type { Series, Success, Summary } from "./summary.ts";
import { curveOf, entryAt } from "./summary.ts";
import * as text from "./text.ts";

type Column = ReportRecord["columns"][number];
type Row = ReportRecord["rows"][number];

const shares: Axis = { title: "", range: [0, 1], ticks: shareTicks };

/** The colour of a row in every chart of a page: grey if it evaluates others' policies. Colours tell the points of one series apart, not all rows. */
export function colourOf({ rows }: ReportRecord, row: string): string {
  const own = rows.find(({ name }) => name === row);
  const alike = rows.filter(({ kind, point }) => kind === own?.kind && point?.of === own?.point?.of);
  const index = alike.findIndex(({ name }) => name === row);
  return colourAt(Math.max(0, index), own?.kind === "evaluate" ? "grey" : "coloured");
}

/** The mean of each row, its 95 % interval, and a dot for each seed. */
export function successBars(summary: Summary, column: Column): Chart {
  const bars = summary.record.rows.map(({ name, title }) => {
    const entry = entryAt(summary, name, column.name);
    const success = entry?.success ?? null;
    const flag = entry === undefined ? "missing" : text.incomplete(entry);
    return {
      title,
      colour: colourOf(summary.record, name),
      isStrong: entry?.isBest === true,
      flag: success === null ? flag : flag.replace(" of ", "/"),
      tip: success === null ? `${title}: ${flag}` : inWords(title, success),
      measured: success && {
        mean: success.mean,
        label: text.perCent(success.mean),
        interval: success.interval,
        dots: success.values,
      },
      spoken: success === null ? `${title}: none` : inWords(title, success),
    };
  });
  return barChart(bars, `Success on ${column.title}. ${bars.map(({ spoken }) => spoken).join(". ")}.`);
}

function inWords(title: string, { mean, interval, over, values }: Success): string {
  const seeds = values.map(text.perCent).join(", ");
  return `${title}: ${text.perCent(mean)} %, 95 % interval over ${over} ${text.showRange(interval)}; seeds ${seeds}`;
}

/** Held-out success during reinforcement: the mean over seeds, from the lowest to the highest seed. Null: no row has trained yet. */
export function learningCurves(
  summary: Summary,
  column: Column,
  rows: readonly Row[],
  size?: Size,
): Chart | null {
  const curves = rows.flatMap((row) => {
    const entry = entryAt(summary, row.name, column.name);
    return entry?.success ? [{ row, success: entry.success, points: curveOf(entry) }] : [];
  });
  const last = Math.max(0, ...curves.map(({ points }) => points.at(-1)?.step ?? 0));
  if (last === 0) return null;
  const lines = curves.map(({ row: { name, title }, success, points }) => {
    const share = points.at(-1)?.mean ?? success.mean;
    const line = { name: title, colour: colourOf(summary.record, name), end: text.perCent(share) };
    if (points.length === 0) {
      const tip = `${title}: ${text.perCent(share)} %, not trained in this row`;
      const ends = [0, last].map((x) => ({ x, y: share, tip }));
      return { ...line, isLevel: true, points: ends, spoken: `${title}: ${line.end} %, not trained` };
    }
    const spoken = `${title}: from ${text.perCent(points[0]?.mean ?? 0)} to ${line.end} %`;
    const drawn = points.map(({ step, mean, low, high }) => ({
      x: step,
      y: mean,
      interval: { low, high },
      tip: `${title}, step ${step}: ${text.perCent(mean)} % (seeds ${text.showRange({ low, high })})`,
    }));
    return { ...line, points: drawn, spoken };
  });
  const words = lines.map(({ spoken }) => spoken).join("; ");
  const spoken = `Held-out success on ${column.title} during reinforcement. ${words}.`;
  return lineChart({ spoken, x: stepAxis(last), y: shares, lines, intervals: "bands" }, size);
}

/** Success against group size, turns or model size, a line for each column. */
export function seriesChart(summary: Summary, { of, points }: Series): Chart {
  const { columns } = summary.record;
  const lines = columns.map((column, index): Line => {
    const known = points.flatMap(({ row, title }, x) => {
      const success = entryAt(summary, row, column.name)?.success ?? null;
      if (success === null) return [];
      const { mean, interval, values } = success;
      const seeds = values.map(text.perCent).join(", ");
      const tip = `${title}: ${text.perCent(mean)} % (${text.showRange(interval)}); seeds ${seeds}`;
      // Labels of several lines could overlap.
      return [{ x, y: mean, interval, tip, ...(columns.length === 1 ? { label: text.perCent(mean) } : {}) }];
    });
    return { name: column.title, colour: colourAt(index), points: known };
  });
  const spoken = lines.map(({ name, points: known }) => {
    const each = known.map(({ x, y }) => `${points[x]?.at}: ${text.perCent(y)} %`);
    return `${name}: ${each.join(", ")}`;
  });
  // Points are evenly spaced: group sizes and models grow by factors, and names have no scale.
  const ticks = points.map(({ at }, index) => ({ at: index, label: String(at) }));
  const x: Axis = { title: of, range: [-0.5, points.length - 0.5], ticks };
  return lineChart({
    spoken: `Success against ${of}. ${spoken.join("; ")}.`,
    x,
    y: shares,
    lines,
    intervals: "whiskers",
  });
}
