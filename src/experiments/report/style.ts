/** The style sheets of the page, light and dark, and of a chart that is a file of its own. One colour per row. */
const sans = `system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", sans-serif`;

const light = `
--page: #f7f7f5; --card: #ffffff; --ink: #1c1d20; --soft: #62656c; --rule: #e4e4e0; --track: #efefec;
--good: #1a7f4b; --bad: #b3261e; --bad-card: #fdf0ef; --whisker: #1c1d20;
--c0: #d9701e; --c1: #8b5fbf; --c2: #2f7ed8; --c3: #159a80; --c4: #d6487e;
--c5: #8a9a1c; --c6: #1aa3c4; --c7: #a5673f; --c8: #5b6bd6;
--g0: #a4a7ae; --g1: #7d8189; --g2: #bfc1c6; --g3: #64676e;
`;

const dark = `
--page: #131417; --card: #1c1e22; --ink: #ececea; --soft: #9ea2aa; --rule: #31343a; --track: #282b30;
--good: #5cc98f; --bad: #ff8a80; --bad-card: #331d1c; --whisker: #f2f2f0;
--c0: #f0975a; --c1: #aa86d8; --c2: #5a9ff0; --c3: #3dbba0; --c4: #ec6f9e;
--c5: #b3c244; --c6: #4cc0dc; --c7: #c58a62; --c8: #8794ee;
--g0: #7d8189; --g1: #a4a7ae; --g2: #62656c; --g3: #bfc1c6;
`;

/** A row's colour is its group's `color`: programs that draw SVG files know `currentColor`, but hardly any knows variables. */
const chart = `
svg { display: block; width: 100%; height: auto; overflow: visible; font-family: ${sans}; }
svg .grid { stroke: var(--rule); stroke-width: 1; }
svg .tick { fill: var(--soft); font-size: 10.5px; }
svg .label { fill: var(--ink); font-size: 12px; }
svg .name { fill: var(--ink); font-size: 10.5px; }
svg .value { fill: var(--ink); font-size: 12px; font-variant-numeric: tabular-nums; }
svg .best .label, svg .best .value { font-weight: 650; }
svg .flag { fill: var(--bad); font-size: 10.5px; font-weight: 400; white-space: pre; }
svg .track { fill: var(--track); }
svg .bar { fill: currentColor; }
svg .whisker { stroke: var(--whisker); stroke-width: 1.3; }
svg .seed { fill: var(--card); stroke: var(--whisker); stroke-width: 1; }
svg .line { fill: none; stroke: currentColor; stroke-width: 2.2; stroke-linejoin: round; stroke-linecap: round; }
svg .dot { fill: currentColor; stroke: var(--card); stroke-width: 0.8; }
svg .band { fill: currentColor; opacity: 0.16; }
svg .level { stroke: currentColor; stroke-width: 1.5; stroke-dasharray: 5 4; }
svg .g1 .level, svg.g1 .level { stroke-dasharray: 1.5 3; } svg .g2 .level, svg.g2 .level { stroke-dasharray: 9 3; }
svg .g3 .level, svg.g3 .level { stroke-dasharray: 7 3 1.5 3; }
svg .end[class*=" g"] { color: var(--soft); }
svg .end { fill: currentColor; font-size: 10.5px; font-weight: 600; font-variant-numeric: tabular-nums; }
.c0 { color: var(--c0); } .c1 { color: var(--c1); } .c2 { color: var(--c2); } .c3 { color: var(--c3); }
.c4 { color: var(--c4); } .c5 { color: var(--c5); } .c6 { color: var(--c6); } .c7 { color: var(--c7); }
.c8 { color: var(--c8); }
.g0 { color: var(--g0); } .g1 { color: var(--g1); } .g2 { color: var(--g2); } .g3 { color: var(--g3); }
`;

export const style = `
:root { color-scheme: light dark; ${light} }
@media screen and (prefers-color-scheme: dark) { :root { ${dark} } }
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
.range, .pooled { color: var(--soft); font-size: 0.82rem; margin-left: 0.4em; white-space: nowrap; }
.up { color: var(--good); } .down { color: var(--bad); }
.change { font-size: 0.82rem; margin-left: 0.45em; white-space: nowrap; }
.flag { color: var(--bad); font-size: 0.82rem; margin-left: 0.4em; white-space: nowrap; }
.chip { display: inline-block; width: 0.72em; height: 0.72em; border-radius: 3px; background: currentColor; margin-right: 0.55em; }
.legend { display: flex; flex-wrap: wrap; gap: 0.25rem 1.3rem; margin: 0.8rem 0 0; font-size: 0.85rem; color: var(--soft); }
.legend .sample { display: inline-block; width: 2em; height: 0.72em; margin-right: 0.5em; }
details { margin-top: 0.9rem; }
summary { cursor: pointer; color: var(--soft); font-size: 0.9rem; }
pre { margin: 0.6rem 0; font: 0.85rem/1.5 ui-monospace, "SF Mono", Menlo, Consolas, monospace; white-space: pre-wrap; overflow-wrap: anywhere; }
${chart}
@media (max-width: 640px) {
  body { padding: 1.5rem 0.8rem 2.5rem; }
  h1 { font-size: 1.5rem; }
  .card { padding: 0.8rem 0.8rem; }
  th[scope="row"] { white-space: normal; min-width: 7.5em; }
  .range { display: block; margin-left: 0; }
  .change { margin-left: 0; }
}
@media print {
  :root { --page: #ffffff; }
  body { padding: 0; font-size: 12px; print-color-adjust: exact; -webkit-print-color-adjust: exact; }
  main { max-width: none; }
  .panels { grid-template-columns: repeat(2, 1fr); }
  .panels .card, .legend, tr, p, pre { break-inside: avoid; }
  h2, h3, .note { break-after: avoid; }
  .scroll { overflow: visible; }
  details::details-content { content-visibility: visible; }
  summary { list-style: none; }
  .card > a { display: none; }
}
`;

const lightColours = new Map(
  [...light.matchAll(/--(\S+): ([^;]+);/g)].map(([, name = "", colour = ""]) => [name, colour]),
);

/** Without variables, so that other programs draw a saved chart in its colours; light, for paper. */
export const chartStyle = chart.replaceAll(
  /var\(--([^)]+)\)/g,
  (_, name: string) => lightColours.get(name) ?? "",
);
