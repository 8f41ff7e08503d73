/** `troupe runs compare`: how the recipes and results of runs differ. */
import { Command } from "commander";
import { runsFolder } from "../../command-line.ts";
import { TroupeError } from "../../errors.ts";
import { shorten } from "../../recipes/tree.ts";
import { differences } from "../../recipes/write.ts";
import type { DataRecord } from "../../runs/input-records.ts";
import { readData, readEvaluations, readRecipe, summarizeRun, type RunSummary } from "../../runs/read.ts";
import type { Evaluation } from "../../runs/records.ts";
import { showOrigin } from "../data/given.ts";
import { findRun } from "../places.ts";
import { printJson, printLines } from "../print.ts";
import { stackedTables, terminalWidth } from "../table.ts";
import { showInterval, measureTable } from "../train/progress/lines.ts";
import { labelsOf } from "./labels.ts";

export function compareCommand(): Command {
  return new Command("compare")
    .description("compare recipes and results of runs")
    .argument("<runs...>", "names or folders of at least two runs")
    .option("--runs <folder>", "folder of the runs", runsFolder)
    .option("--json", "print one JSON document")
    .action(async (names: string[], options: { runs: string; json?: boolean }) => {
      const directories = await Promise.all(names.map((name) => findRun(name, options.runs)));
      const labels = labelsOf(directories);
      const compared = await Promise.all(
        directories.map((directory, index) => readCompared(directory, labels[index] ?? directory)),
      );
      if (compared.length < 2) throw new TroupeError("bad_arguments", "give at least two runs to compare");
      if (options.json) printJson(comparison(compared));
      else printLines(comparisonLines(compared));
    });
}

interface Compared {
  readonly label: string;
  readonly summary: RunSummary;
  /** At its start and its end; of a run that did not end, at its last evaluation. */
  readonly table: readonly Evaluation[];
  readonly recipe: unknown;
  /** What its last step was trained on. */
  readonly data: DataRecord["data"];
}

async function readCompared(directory: string, label: string): Promise<Compared> {
  const data = (await readData(directory)).at(-1)?.data ?? {};
  const summary = await summarizeRun(directory);
  // A row without a result would look like one of a run that has none yet.
  if (summary.status === "damaged") throw new TroupeError("bad_run", `${label}: ${summary.problem}`);
  const table = summary.result?.table ?? tableSoFar(await readEvaluations(directory));
  return { label, summary, table, recipe: await readRecipe(directory), data };
}

/** The first and the last evaluation of each team, as those before and after training. */
function tableSoFar(evaluations: readonly Evaluation[]): readonly Evaluation[] {
  return [...Map.groupBy(evaluations, ({ team }) => team).values()].flatMap((own) => {
    const last = own.findLast(({ moment }) => moment !== "before");
    const before = own.filter(({ moment }) => moment === "before");
    return last === undefined ? before : [...before, { ...last, moment: "after" as const }];
  });
}

/** Each key in which some run differs from the first, with its value in every run. */
function comparison(compared: readonly Compared[]) {
  const [first, ...others] = compared;
  const keys = new Set(
    others.flatMap((other) => differences(first?.recipe, other.recipe).map((difference) => difference.key)),
  );
  return {
    runs: compared.map(({ label }) => label),
    recipe: [...keys].map((key) => ({ key, values: compared.map(({ recipe }) => valueAt(recipe, key)) })),
    data: dataDifferences(compared),
    results: compared.map(({ summary }) => summary.result ?? null),
  };
}

/** Splits whose tasks differ between the runs. */
function dataDifferences(compared: readonly Compared[]) {
  const splits = new Set(compared.flatMap(({ data }) => Object.keys(data)));
  return [...splits]
    .map((split) => ({ split, values: compared.map(({ data }) => data[split] ?? null) }))
    .filter(({ values }) => new Set(values.map((value) => value?.digest)).size > 1);
}

function valueAt(recipe: unknown, key: string): unknown {
  let value = recipe;
  for (const part of key.split(".")) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, part)) return undefined;
    value = (value as Record<string, unknown>)[part];
  }
  return value;
}

function comparisonLines(compared: readonly Compared[]): string[] {
  const width = terminalWidth();
  const { runs, recipe, data } = comparison(compared);
  const columns = [{ title: "recipe" }, ...runs.map((title) => ({ title }))];
  const rows = recipe.map(({ key, values }) => [
    key,
    ...values.map((value) => (value === undefined ? "absent" : shorten(JSON.stringify(value), 40))),
  ]);
  const teams = new Set(
    compared.flatMap(({ table }) => table.map(({ team, moment }) => `${team} ${moment}`)),
  );
  const results = [...teams].map((label) => [label, ...compared.map((run) => resultCell(run, label))]);
  const recipeLines = rows.length === 0 ? ["the recipes are the same"] : stackedTables(columns, rows, width);
  const dataLines = data.flatMap(({ split, values }) =>
    values.map(
      (origin, index) => `data ${split} of ${runs[index]}: ${origin ? showOrigin(origin) : "unknown"}`,
    ),
  );
  return [
    ...recipeLines,
    ...(dataLines.length > 0 ? ["", ...dataLines] : []),
    "",
    ...stackedTables([{ title: "success" }, ...columns.slice(1)], results, width),
    ...measureLines(compared),
  ];
}

function resultCell({ summary, table }: Compared, label: string): string {
  const row = table.find(({ team, moment }) => `${team} ${moment}` === label);
  const isEnded = summary.result !== undefined;
  if (row === undefined) return isEnded ? "–" : summary.status;
  return isEnded || row.moment === "before"
    ? showInterval(row)
    : `${showInterval(row)}, ${summary.status} after step ${row.step}`;
}

/** Of the teams at the end of the runs: pass@k and terms of the reward, if they have any. */
function measureLines(compared: readonly Compared[]): string[] {
  const last = compared.flatMap(({ label, summary: { result } }) =>
    (result?.table ?? [])
      .filter(({ team, moment }) => team === "team" && moment === "after")
      .map((row) => ({ label, row })),
  );
  const nameOf = new Map(last.map(({ label, row }) => [row, label]));
  return measureTable([...nameOf.keys()], (row) => nameOf.get(row) ?? "");
}
