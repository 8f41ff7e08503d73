/** Parts of report pages: sections, cards, charts with a link to their file, and tables in Markdown. */
import type { Chart } from "./chart.ts";
import { type Child, element, type Markup } from "./markup.ts";
import { inline, svgFile } from "./page.ts";

export function section(title: string, note: string, ...children: readonly Child[]): Markup {
  return element("section", {}, element("h2", {}, title), element("p", { class: "note" }, note), children);
}

/** Cards side by side, as many as fit. */
export function panels(cards: readonly Markup[]): Markup {
  return element("div", { class: "panels" }, cards);
}

export function card(title: string, ...children: readonly Child[]): Markup {
  return element("div", { class: "card" }, element("h3", {}, title), children);
}

/**
 * A chart with a link to it as a file of its own, in the page itself.
 * @param what of the file's name, after the title
 */
export function figure(title: string, what: string, chart: Chart): Markup {
  const href = `data:image/svg+xml;base64,${Buffer.from(svgFile(chart)).toString("base64")}`;
  const link = element("a", { class: "note", download: `${title}, ${what}.svg`, href }, "SVG");
  return card(title, inline(chart), link);
}

/** A table in Markdown; columns are padded with blanks, so that the source is readable. */
export function markdownTable(titles: readonly string[], rows: readonly (readonly string[])[]): string {
  const cells = [titles.map(literal), ...rows].map((row) => row.map(escaped));
  const widths = titles.map((_, index) => Math.max(3, ...cells.map((row) => row[index]?.length ?? 0)));
  const line = (row: readonly string[]) =>
    `| ${widths.map((width, index) => (row[index] ?? "").padEnd(width)).join(" | ")} |`;
  const rule = widths.map((width) => "-".repeat(width));
  const [head = [], ...body] = cells;
  return [line(head), line(rule), ...body.map(line)].join("\n");
}

/** Text in Markdown that is no markup. */
export function literal(title: string): string {
  return title.replaceAll(/[\\`*_<[\]]/g, String.raw`\$&`).replaceAll("\n", " ");
}

function escaped(cell: string): string {
  return cell.replaceAll("|", "\\|").replaceAll("\n", " ");
}
