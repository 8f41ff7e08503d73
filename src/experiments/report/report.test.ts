import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { CellNumbers, CellRecord, ReportRecord, ReportSession } from "../records.ts";
import { readReport } from "../records.ts";
import { htmlOf } from "./html.ts";
import { markdownOf } from "./markdown.ts";
import { wilsonInterval } from "../../statistics.ts";
import { curveOf, entryAt, entryOf, spentOf, summarize } from "./summary.ts";
import { legend } from "./text.ts";
import { writeReport } from "./write.ts";

function numbers(successes: number, given: Partial<CellNumbers> = {}): CellNumbers {
  const tasks = 100;
  const curve = [
    { step: 0, sampledTokens: 0, success: 0.1, tasks: 20 },
    { step: 5, sampledTokens: 50, success: successes / tasks, tasks },
  ];
  const tokens = { sampled: 1000, trained: 500 };
  const base = { tasks, successes, success: successes / tasks, score: 0.5, turns: 2 };
  return { ...base, curve, steps: 5, updates: 10, tokens, seconds: 60, parameters: 7, ...given };
}

const measures: NonNullable<ReportRecord["measures"]> = [
  { name: "pass", title: "pass@5", passAt: 5 },
  { name: "structure", title: "structure", terms: { helper: 0.4, main: 0.6 } },
  { name: "tokens", title: "tokens", value: "tokens" },
  { name: "seconds", title: "seconds", value: "seconds" },
  { name: "agreement", title: "agreement", judge: "correlation" },
  { name: "blame", title: "blame", judge: "blame" },
];

const measured: Partial<CellNumbers> = {
  sampled: { samples: 10, low: 0.41, high: 0.62 },
  passAt: { 5: { mean: 0.7, low: 0.6, high: 0.8 } },
  terms: { helper: 0.2, main: 0.54 },
  perEpisode: { tokens: 1234.4, seconds: 0.256 },
  judge: { score: 0.5, correlation: 0.417, blame: null },
};

function cell(
  row: string,
  seed: number,
  successes: number | null,
  given: Partial<CellRecord> = {},
): CellRecord {
  const place = { row, column: "boards", seed, hash: `${row}${seed}` };
  if (successes === null) return { ...place, status: "missing", ...given };
  return { ...place, status: "done", session: 0, numbers: numbers(successes), ...given };
}

const session: ReportSession = {
  date: "2026-11-21",
  command: "troupe experiment given",
  version: "0.1.0",
  commit: "abc1234",
  processor: "A kind",
  cores: 2,
  jobs: 2,
  threads: 1,
};
const record: ReportRecord = {
  schema_version: 1,
  experiment: "given",
  title: "Teams & <agents>",
  description: "Two rows.",
  notes: "A first paragraph.\n\nA second.",
  command: "troupe experiment given",
  seeds: [1, 2, 3],
  columns: [{ name: "boards", title: "Boards" }],
  rows: [
    { name: "alone", title: "Alone", kind: "evaluate" },
    { name: "team", title: "Team | trained", kind: "train" },
    { name: "broken", title: "Broken", kind: "train" },
  ],
  shared: [{ name: "warm-start", title: "warm-start" }],
  baseline: "alone",
  published: { source: "A paper", values: { team: { boards: 96 } } },
  cells: [
    ...[20, 30, 40].map((successes, index) => cell("alone", index + 1, successes)),
    ...[90, 95, 100].map((successes, index) => cell("team", index + 1, successes)),
    cell("broken", 1, 50),
    cell("broken", 2, null, { status: "failed", problem: "it went\n<wrong>" }),
    cell("broken", 3, null),
    cell("warm-start", 1, 20, { hash: "alone1" }),
  ],
  sessions: [session],
};
const summary = summarize(record);

/** One cell was found done, and no report says when it ran. */
const unsigned: ReportRecord = {
  ...record,
  cells: [{ ...cell("alone", 1, 20), session: undefined }, ...record.cells.slice(1)],
};

describe("the summary", () => {
  it("by hand: mean, t interval over seeds, Wilson's over the tasks that they share", () => {
    const { success } = entryAt(summary, "team", "boards") ?? { success: null };
    expect(success?.mean).toBeCloseTo(0.95, 12);
    // Standard deviation 0.05, of the mean 0.0288675, times t = 4.30265; limited to 1.
    expect(success?.interval.low).toBeCloseTo(0.825793, 6);
    expect(success?.interval.high).toBe(1);
    // Wilson of 95 of 100: centre 0.969207, spread 0.046829, both divided by 1.038415.
    expect(success?.overTasks.low).toBeCloseTo(0.88825, 5);
    expect(success?.overTasks.high).toBeCloseTo(0.97846, 5);
  });

  it("a row is the best if it is clearly above every other one in the same seeds", () => {
    const best = (cells: ReportRecord["cells"], row = ""): string[] => {
      const rows = record.rows.filter(({ name }) => name !== row);
      return summarize({ ...record, rows, cells }).entries.flatMap((one) => (one.isBest ? [one.row] : []));
    };
    expect(best(record.cells, "broken")).toEqual(["team"]);
    // One seed says nothing of others.
    expect(best(record.cells)).toEqual([]);
    // Nor do two whose differences are 41 and 32 points.
    const two = [61, 62].map((successes, index) => cell("team", index + 1, successes));
    expect(best([...record.cells.slice(0, 2), ...two], "broken")).toEqual([]);
  });

  it("no row is the best if all are equal", () => {
    const alike = { ...record, cells: [cell("alone", 1, 20), cell("team", 1, 20), cell("broken", 1, null)] };
    expect(summarize(alike).entries.filter(({ isBest }) => isBest)).toEqual([]);
  });

  it("of seeds that agree: the interval over their tasks, each once", () => {
    const cells = [1, 2].map((seed) => cell("team", seed, 90));
    const { success } = entryOf({ ...record, cells }, "team", "boards");
    expect(success).toMatchObject({ over: "seeds", interval: wilsonInterval(90, 100) });
  });

  it("of one seed: Wilson's interval over its tasks; failed and missing results are counted", () => {
    const entry = entryAt(summary, "broken", "boards");
    expect(entry).toMatchObject({ failed: 1, missing: 1, isBest: false, success: { over: "tasks" } });
    expect(entry?.success?.interval.low).toBeCloseTo(0.40383, 5);
    expect(summary.counts).toEqual({
      done: { results: 7, trainings: 4, evaluations: 3 },
      all: { results: 9, trainings: 6, evaluations: 3 },
      failed: 1,
    });
  });

  it("a learning curve has the steps that all seeds have, from the lowest to the highest seed", () => {
    expect(curveOf(entryOf(record, "team", "boards"))).toEqual([
      { step: 0, mean: expect.closeTo(0.1, 12) as number, low: 0.1, high: 0.1 },
      { step: 5, mean: expect.closeTo(0.95, 12) as number, low: 0.9, high: 1 },
    ]);
    const shorter = { ...numbers(90), curve: numbers(90).curve.slice(0, 1) };
    expect(curveOf({ numbers: [numbers(80), shorter] }).map(({ step }) => step)).toEqual([0]);
  });

  it("by hand: total time, a shared cell once, divided by the number of concurrent cells", () => {
    const common = { added: 420, sampled: 7000 };
    expect(spentOf(record)).toEqual({ ...common, atOnce: { least: 2, most: 2, seconds: 210 } });
    expect(spentOf(unsigned)).toEqual({ ...common, atOnce: null });
    const [first, ...others] = record.cells;
    const second = { ...session, jobs: 4 };
    const later = others.map((each) => (each.row === "team" ? { ...each, session: 1 } : each));
    // Three cells of the session with four concurrent cells, four of the other: 3 × 60 / 3 + 4 × 60 / 2.
    expect(
      spentOf({ ...record, sessions: [...record.sessions, second], cells: [first as CellRecord, ...later] }),
    ).toEqual({ ...common, atOnce: { least: 2, most: 3, seconds: 180 } });
  });
});

describe("the pages", () => {
  const markdown = markdownOf(summary, "given.html");
  const html = htmlOf(summary);

  it("Markdown: the table with differences, failures; nothing breaks a table", () => {
    expect(markdown).toContain("| Team \\| trained | 95.0 (82.6 to 100.0) +65.0 [+48.1 to +80.1] |");
    expect(markdown).toContain("| Alone           | 30.0 (5.2 to 54.8)                          |");
    expect(markdown).toContain("50.0 (40.4 to 59.6) +30.0 _1 of 3 seeds_");
    expect(markdown).toContain("**Not complete:** 7 of 9 results available, 1 cell failed.");
    expect(markdown).toContain("- boards, broken, seed 2: it went <wrong>");
    expect(markdown).toContain(
      "| Boards | Team \\| trained | 3    | 5     | 10      | 1.0 k          | 500            | 1:00 min |",
    );
    expect(markdownOf(summarize(unsigned), "x.html")).toContain("1 cell found finished in the runs' folder");
    expect(markdown).toContain(
      "7 results from 7 cells (4 trainings, 3 evaluations). The times of these cells add up to 7:00 min; " +
        "with 2 at once about 3:30 min of wall-clock time.",
    );
    expect(markdown).toContain(
      "2026-11-21, troupe experiment given: Troupe 0.1.0, commit abc1234; A kind, 2 cores; 2 cells at once with 1 thread each",
    );
  });

  it("Markdown: titles are text, not markup", () => {
    const [first, ...rows] = record.rows;
    const title = "a*b*_c_ `d` <e> [f](g) | h";
    const marked = { ...record, title, rows: [{ ...first!, title }, ...rows] };
    const lines = markdownOf(summarize(marked), "page.html").split("\n");
    const literal = String.raw`a\*b\*\_c\_ \`d\` \<e> \[f\](g)`;
    expect(lines[0]).toBe(`# ${literal} | h`);
    expect(lines.filter((line) => line.includes("a*b*"))).toEqual([]);
    expect(lines.filter((line) => line.startsWith(`| ${literal} \\| h `))).toHaveLength(1);
  });

  it("HTML: everything in the page, everything escaped, no script, nothing fetched", () => {
    expect(html).toContain("<title>Teams &amp; &lt;agents&gt;</title>");
    expect(html).toContain("it went\n&lt;wrong&gt;");
    expect(html).not.toMatch(
      /<wrong>|<script|src=|href="(?!data:image\/svg)|url\(|@import|NaN|undefined|Infinity/,
    );
    expect(html.match(/<svg [^>]*role="img"/g)).toHaveLength(2);
    expect(html).toContain("prefers-color-scheme: dark");
    for (const name of ["main", "table", "svg", "g", "text", "details", "body", "html"])
      expect(html.match(new RegExp(`<${name}[ >]`, "g"))?.length).toBe(
        html.match(new RegExp(`</${name}>`, "g"))?.length,
      );
  });

  it("charts can be saved: files with names of their own, fixed colours, and the names of lines in them", () => {
    const links = [...html.matchAll(/download="([^"]+)" href="data:image\/svg\+xml;base64,([^"]+)"/g)];
    expect(links.map(([, name]) => name)).toEqual(["Boards, success.svg", "Boards, learning curves.svg"]);
    const files = links.map(([, , file = ""]) => Buffer.from(file, "base64").toString());
    for (const file of files) {
      expect(file).toMatch(
        /^<svg xmlns="http:\/\/www.w3.org\/2000\/svg" viewBox="[\d. ]+" [^>]+><style>[^<]+<\/style>.*<\/svg>$/s,
      );
      // Inkscape, librsvg and most converters know no variables: every shape would be black.
      expect(file).not.toContain("var(");
      expect(file).toMatch(/\.c0 \{ color: #[0-9a-f]{6}; \}/);
    }
    for (const { title } of record.rows)
      expect(files[1]).toMatch(new RegExp(`<text class="name" [^>]+>${title.replace("|", "\\|")}</text>`));
  });

  it("charts have a description in words, and final values at the ends of lines", () => {
    expect(html).toContain(
      'aria-label="Success on Boards. Alone: 30.0 %, 95 % interval over seeds 5.2 to 54.8; seeds 20.0, 30.0, 40.0. ',
    );
    expect(html).toContain("Team | trained: from 10.0 to 95.0 %; Broken: from 10.0 to 50.0 %.");
    expect(html).toMatch(/<text class="end c0" x="[\d.]+" y="[\d.]+">95\.0<\/text>/);
  });

  it("a bar is as long as its mean: 95 % of the track", () => {
    const track = /class="track" x="1" y="\d+" width="338"/;
    expect(html).toMatch(track);
    expect(html).toContain(`<rect class="bar" x="1" y="66" width="${(0.95 * 338).toFixed(1)}" height="14"`);
  });

  it("are regenerated from the JSON alone, byte for byte; another file is rejected", async () => {
    const folder = await mkdtemp(join(tmpdir(), "troupe-report-"));
    const files = await writeReport(record, folder);
    const read = readReport(files.json);
    expect(read).toEqual(record);
    const again = await writeReport(read, join(folder, "again"));
    expect(readReport(again.json)).toEqual(record);
    for (const key of ["markdown", "html"] as const)
      expect(await readFile(again[key], "utf8")).toBe(await readFile(files[key], "utf8"));
    await writeFile(files.json, '{"schema_version":1}');
    expect(() => readReport(files.json)).toThrow(/is not the JSON of an experiment's report at /);
    // Its name is that of files to be written.
    await writeFile(files.json, JSON.stringify({ ...record, experiment: "../elsewhere" }));
    expect(() => readReport(files.json)).toThrow(
      /report at experiment: a name: letters from A to Z, digits, dashes/,
    );
    await rm(folder, { recursive: true });
  });

  it("of an experiment without results say so", () => {
    const cells = record.cells.map(({ row, seed }) => cell(row, seed, null));
    const empty = summarize({ ...record, cells, sessions: [] });
    expect(htmlOf(empty)).toContain("Alone: none. ");
    expect(markdownOf(empty, "x.html")).toContain("_missing_");
    expect(htmlOf(empty)).not.toMatch(/NaN|undefined|Infinity/);
  });
});

describe("the split", () => {
  it("is named if it is not the held-out one", () => {
    const cells = record.cells.map((each) =>
      each.numbers === undefined ? each : { ...each, numbers: { ...each.numbers, split: "validation" } },
    );
    expect(legend(summarize(record))).toContain("on 100 held-out tasks");
    expect(legend(summarize({ ...record, cells }))).toContain("on 100 validation tasks");
  });
});

describe("measures", () => {
  const single: ReportRecord = {
    ...record,
    seeds: [1],
    measures,
    published: { source: "A paper", values: {}, measures: { boards: { team: { structure: 98.4 } } } },
    cells: [
      cell("alone", 1, 20, { numbers: numbers(20, { ...measured, terms: { main: 0.3 } }) }),
      cell("team", 1, 50, { numbers: numbers(500, { ...measured, success: 0.5 }) }),
      cell("broken", 1, 50),
    ],
  };

  it("are columns of a table: shares of the terms that a row has, and dashes where it has none", () => {
    const lines = markdownOf(summarize(single), "page.html").split("\n");
    const rows = lines.slice(lines.indexOf("## Measures")).map((line) => line.replaceAll(/ +/g, " "));
    expect(rows).toContain("| | pass@5 | structure | tokens | seconds | agreement | blame |");
    expect(rows).toContain("| Alone | 70.0 (60.0 to 80.0) | 50.0 | 1,234 | 0.26 | 0.42 | – |");
    expect(rows).toContain("| Team \\| trained | 70.0 (60.0 to 80.0) | 74.0 | 1,234 | 0.26 | 0.42 | – |");
    expect(rows).toContain("| Broken | – | – | – | – | – | – |");
    expect(rows).toContain("| Team \\| trained | 98.4 |");
    expect(htmlOf(summarize(single))).toContain("70.0 (60.0 to 80.0)");
  });

  it("with several samples of a task, the interval of one seed is that of the evaluation", () => {
    const { interval, overTasks } = entryAt(summarize(single), "team", "boards")?.success ?? {};
    expect(interval).toEqual({ low: 0.41, high: 0.62 });
    // With every task as one trial.
    expect(overTasks).toEqual(wilsonInterval(50, 100));
  });

  it("over several seeds have Student's interval", () => {
    // t = 12.706 for one degree of freedom, standard error .1: cut at 0 and 100.
    const seeds = [0.2, 0.4].map((main, index) =>
      cell("team", index + 1, 50, { numbers: numbers(50, { terms: { main, helper: 0 } }) }),
    );
    const page = markdownOf(summarize({ ...single, seeds: [1, 2], cells: seeds }), "page.html");
    expect(page).toContain("30.0 (0.0 to 100.0)");
  });

  it("of seeds that agree have Wilson's interval over the tasks, not one without width", () => {
    const agreed = numbers(50, {
      terms: { main: 0, helper: 0 },
      passAt: { "5": { mean: 1, low: 0.96, high: 1 } },
      judge: { score: 1, correlation: null, blame: 0.5 },
    });
    const seeds = [1, 2].map((seed) => cell("team", seed, 50, { numbers: agreed }));
    const page = markdownOf(summarize({ ...single, seeds: [1, 2], cells: seeds }), "page.html");
    // Wilson of 100 and of 0 of 100: z² / (100 + z²) = 0.036995. The number of verdicts is not known.
    expect(page.replaceAll(/ +/g, " ")).toContain(
      "| Team \\| trained | 100.0 (96.3 to 100.0) | 0.0 (0.0 to 3.7) | – | – | – | 50.0 |",
    );
    expect(page).toContain("seeds share the tasks, so each task counts once");
  });

  it("of older reports are absent", () => {
    expect(markdownOf(summarize(record), "page.html")).not.toContain("Measures");
    expect(htmlOf(summarize(record))).not.toContain("Measures");
  });
});
