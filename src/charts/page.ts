/** What charts are shown in: a page of HTML, or an SVG file of their own, in the same colours for light and dark screens. */
import type { Chart } from "./chart.ts";
import { type Child, element, Markup, render } from "./markup.ts";

/** On light and on dark screens. `c0` … are lines and bars, `g0` … those that are not trained. */
const colours: Readonly<Record<string, readonly [light: string, dark: string]>> = {
  page: ["#f7f7f5", "#131417"],
  card: ["#ffffff", "#1c1e22"],
  ink: ["#1c1d20", "#ececea"],
  soft: ["#62656c", "#9ea2aa"],
  rule: ["#e4e4e0", "#31343a"],
  track: ["#efefec", "#282b30"],
  good: ["#1a7f4b", "#5cc98f"],
  bad: ["#b3261e", "#ff8a80"],
  "bad-card": ["#fdf0ef", "#331d1c"],
  whisker: ["#1c1d20", "#f2f2f0"],
  c0: ["#d9701e", "#f0975a"],
  c1: ["#8b5fbf", "#aa86d8"],
  c2: ["#2f7ed8", "#5a9ff0"],
  c3: ["#159a80", "#3dbba0"],
  c4: ["#d6487e", "#ec6f9e"],
  c5: ["#8a9a1c", "#b3c244"],
  c6: ["#1aa3c4", "#4cc0dc"],
  c7: ["#a5673f", "#c58a62"],
  c8: ["#5b6bd6", "#8794ee"],
  g0: ["#a4a7ae", "#7d8189"],
  g1: ["#7d8189", "#a4a7ae"],
  g2: ["#bfc1c6", "#62656c"],
  g3: ["#64676e", "#bfc1c6"],
};
const lineColours = Object.keys(colours).filter((name) => /^[cg]\d$/.test(name));

/** The class of a line's colour. */
export function colourAt(index: number, kind: "coloured" | "grey" = "coloured"): string {
  const letter = kind === "grey" ? "g" : "c";
  return `${letter}${index % lineColours.filter((name) => name.startsWith(letter)).length}`;
}

const sans = `system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", sans-serif`;

/** A line's colour is its group's `color`: programs that draw SVG files know `currentColor`, but hardly any knows variables. */
export const chartStyle = `
svg { font-family: ${sans}; }
svg .grid { stroke: var(--rule); stroke-width: 1; }
svg .tick { fill: var(--soft); font-size: 12px; }
svg .label { fill: var(--ink); font-size: 12px; }
svg .name { fill: var(--ink); font-size: 12px; }
svg .value { fill: var(--ink); font-size: 12px; font-variant-numeric: tabular-nums; }
svg .best .label, svg .best .value { font-weight: 650; }
svg .flag { fill: var(--bad); font-size: 12px; font-weight: 400; }
svg .track { fill: var(--track); }
svg .bar { fill: currentColor; }
svg .whisker { fill: none; stroke: var(--whisker); stroke-width: 1.3; }
svg .seed { fill: var(--card); stroke: var(--whisker); stroke-width: 1; }
svg .line { fill: none; stroke: currentColor; stroke-width: 2.2; stroke-linejoin: round; stroke-linecap: round; }
svg .dot { fill: currentColor; stroke: var(--card); stroke-width: 0.8; }
svg .band { fill: currentColor; opacity: 0.16; }
svg .level { fill: none; stroke: currentColor; stroke-width: 1.5; stroke-dasharray: 5 4; }
svg .g1.level, svg .g1 .level { stroke-dasharray: 1.5 3; } svg .g2.level, svg .g2 .level { stroke-dasharray: 9 3; }
svg .g3.level, svg .g3 .level { stroke-dasharray: 7 3 1.5 3; }
svg .end { fill: currentColor; font-size: 12px; font-weight: 600; font-variant-numeric: tabular-nums; }
svg .end[class*=" g"] { color: var(--soft); }
svg .paper { fill: var(--card); }
${lineColours.map((name) => `.${name} { color: var(--${name}); }`).join(" ")}
`;

const pageStyle = `
* { box-sizing: border-box; }
body {
  margin: 0; padding: 3rem 1.25rem 4rem; background: var(--page); color: var(--ink);
  font: 15px/1.55 ${sans};
}
main { max-width: 1120px; margin: 0 auto; }
h1 { font-size: 1.9rem; line-height: 1.2; letter-spacing: -0.015em; margin: 0 0 0.5rem; }
h2 { font-size: 1.15rem; letter-spacing: -0.005em; margin: 2.6rem 0 0.35rem; }
h3 { font-size: 0.95rem; margin: 0 0 0.7rem; }
p { margin: 0 0 0.7rem; max-width: 84ch; }
svg { display: block; width: 100%; height: auto; overflow: visible; }
.lead { font-size: 1.05rem; color: var(--soft); }
.note { color: var(--soft); font-size: 0.87rem; max-width: 100ch; }
.facts { display: flex; flex-wrap: wrap; gap: 0.5rem 2.4rem; margin: 1.4rem 0 0; padding: 0; list-style: none; }
.facts b { display: block; font-size: 1.35rem; font-weight: 650; font-variant-numeric: tabular-nums; line-height: 1.25; }
.facts span { color: var(--soft); font-size: 0.85rem; }
.card { background: var(--card); border: 1px solid var(--rule); border-radius: 10px; padding: 1.1rem 1.2rem; }
.scroll { overflow-x: auto; }
.panels { display: grid; grid-template-columns: repeat(auto-fit, minmax(290px, 1fr)); gap: 1rem; margin-top: 0.9rem; }
.panels .card { max-width: 460px; }
.alert { background: var(--bad-card); border-color: var(--bad); margin-top: 1.4rem; }
.alert ul { margin: 0.4rem 0 0; padding-left: 1.2rem; font-size: 0.87rem; }
.alert li { overflow-wrap: anywhere; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; margin-top: 0.2rem; }
th, td { padding: 0.5rem 0.9rem 0.5rem 0; text-align: left; vertical-align: baseline; border-bottom: 1px solid var(--rule); }
th { font-weight: 600; font-size: 0.83rem; color: var(--soft); }
tr:last-child td, tr:last-child th[scope="row"] { border-bottom: 0; }
th[scope="row"] { color: var(--ink); font-size: 0.93rem; font-weight: 500; }
th[scope="row"], .label-cell { white-space: nowrap; }
td.right, th.right { text-align: right; padding-right: 0; padding-left: 0.9rem; }
.mean { font-size: 1.05rem; }
.is-best .mean { font-weight: 750; }
.range { color: var(--soft); font-size: 0.82rem; margin-left: 0.4em; white-space: nowrap; }
.up { color: var(--good); } .down { color: var(--bad); }
.change { display: block; font-size: 0.82rem; white-space: nowrap; }
td .flag { color: var(--bad); font-size: 0.82rem; margin-left: 0.4em; white-space: nowrap; }
.chip { display: inline-block; width: 0.72em; height: 0.72em; border-radius: 3px; background: currentColor; margin-right: 0.55em; }
details { margin-top: 0.9rem; }
summary { cursor: pointer; color: var(--soft); font-size: 0.9rem; }
pre { margin: 0.6rem 0; font: 0.85rem/1.5 ui-monospace, "SF Mono", Menlo, Consolas, monospace; white-space: pre-wrap; overflow-wrap: anywhere; }
@media (max-width: 640px) {
  body { padding: 1.5rem 0.8rem 2.5rem; }
  h1 { font-size: 1.5rem; }
  .card { padding: 0.8rem 0.8rem; }
  th[scope="row"] { white-space: normal; min-width: 7.5em; }
  .range { display: block; margin-left: 0; }
}
@media print {
  :root { --page: #ffffff; }
  body { padding: 0; font-size: 12px; print-color-adjust: exact; -webkit-print-color-adjust: exact; }
  main { max-width: none; }
  .panels { grid-template-columns: repeat(2, 1fr); }
  .panels .card, tr, p, pre { break-inside: avoid; }
  h2, h3, .note { break-after: avoid; }
  .scroll { overflow: visible; }
  details::details-content { content-visibility: visible; }
  summary { list-style: none; }
  .card > a { display: none; }
}
`;

function variables(theme: 0 | 1): string {
  const declarations = Object.entries(colours).map(([name, pair]) => `--${name}: ${pair[theme]};`);
  return declarations.join(" ");
}

/** The colours as variables, for the screen's theme or for the one that `data-theme` of the page names. */
export const themeStyle = `
:root { color-scheme: light dark; ${variables(0)} }
@media screen and (prefers-color-scheme: dark) { :root:not([data-theme="light"]) { ${variables(1)} } }
:root[data-theme="light"] { color-scheme: light; } :root[data-theme="dark"] { color-scheme: dark; ${variables(1)} }
`;

/** A self-contained page without scripts. */
export function page(title: string, ...body: readonly Child[]): string {
  return [
    "<!doctype html>",
    '<html lang="en">',
    '<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">',
    render(element("title", {}, title)),
    `<style>:root { color-scheme: light dark; ${variables(0)} }`,
    `@media screen and (prefers-color-scheme: dark) { :root { ${variables(1)} } }`,
    `${pageStyle}${chartStyle}</style></head>`,
    render(element("body", {}, element("main", {}, body))),
    "</html>\n",
  ].join("\n");
}

/** A chart in a page. */
export function inline({ width, height, spoken, parts }: Chart): Markup {
  return element("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": spoken }, parts);
}

const margin = 12;

/**
 * A chart as a file: its styles use no variables, so that drawing programs and converters to PDF, which also ignore the colours
 * for dark screens, show it as a page does.
 * @param own styles of this drawing, which may use the colours as variables
 */
export function svgFile({ width, height, spoken, parts }: Chart, own = ""): string {
  const resolved = (theme: 0 | 1) =>
    `${chartStyle}${own}`.replaceAll(/var\(--([^)]+)\)/g, (_, name: string) => colours[name]?.[theme] ?? "");
  const size = { width: width + 2 * margin, height: height + 2 * margin };
  const styles = `${resolved(0)}@media (prefers-color-scheme: dark) {${resolved(1)}}`;
  return element(
    "svg",
    {
      xmlns: "http://www.w3.org/2000/svg",
      viewBox: `0 0 ${size.width} ${size.height}`,
      ...size,
      role: "img",
      "aria-label": spoken,
    },
    new Markup(`<style>${styles}</style>`),
    element("rect", { class: "paper", ...size, rx: 8 }),
    element("g", { transform: `translate(${margin} ${margin})` }, parts),
  ).text;
}
