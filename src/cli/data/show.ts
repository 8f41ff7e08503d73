/** `troupe data show`: describes a data set, or prints some of its problems. */
import { Command } from "commander";
import { command } from "../../command-line.ts";
import { openDataset } from "../../data/open.ts";
import {
  isMathProblem,
  testCount,
  type MathProblem,
  type AnyProblem,
  type CodeProblem,
  type CodeTests,
} from "../../data/problem.ts";
import type { ProblemSet } from "../../data/sets/problem-set.ts";
import { findProblemSet } from "../../data/sets/registered.ts";
import { sourceOf } from "../../data/task-sources.ts";
import { showBytes, showCount, showLines, showText } from "../../format.ts";
import { wholeNumber } from "../arguments.ts";
import { printJson, printJsonLine, printLines } from "../print.ts";
import { tableLines } from "../table.ts";
import { datasetGiven, withDatasetOptions, type GivenOptions } from "./given.ts";
import { showProgress } from "./progress.ts";

interface ShowArguments extends GivenOptions {
  readonly count: number;
  readonly json?: boolean;
}

export function showCommand(): Command {
  return withDatasetOptions(new Command("show"))
    .description("describe a data set, or print problems of it")
    .argument("[slices]", "problems to print: test, test[:5], train+test; none: describe the set")
    .option("--count <number>", "problems to print at most", wholeNumber(1), 3)
    .option("--json", "print JSON: one document, or a problem per line")
    .action(async (name: string, slices: string | undefined, options: ShowArguments) => {
      if (slices === undefined) await describe(name, options);
      else await printProblems(name, slices, options);
    });
}

/** Registered sets are described without a network. */
async function describe(name: string, options: ShowArguments): Promise<void> {
  const set = options.form === undefined && !options.field?.length ? findProblemSet(name) : undefined;
  if (set !== undefined) return options.json ? printJson(factsOf(set)) : printLines(factLines(set));
  using progress = showProgress();
  const {
    name: hub,
    commit,
    config,
    splits,
  } = await openDataset(datasetGiven(name, options), progress.options);
  const sizes = Object.entries(splits).map(([split, files]) => ({
    split,
    files: files.length,
    bytes: files.reduce((sum, file) => sum + file.size, 0),
  }));
  if (options.json) return printJson({ dataset: hub, commit, config, splits: sizes });
  const columns = [
    { title: "split" },
    { title: "files", align: "right" as const },
    { title: "size", align: "right" as const },
  ];
  const rows = sizes.map(({ split, files, bytes }) => [split, String(files), showBytes(bytes)]);
  printLines([
    `${showText(hub, 200)}${commit ? ` at ${commit}` : ""}, ${config}`,
    "",
    ...tableLines(columns, rows),
  ]);
}

function factsOf({ name, hub, title, licence, source, fields, configs }: ProblemSet): object {
  return { name, hub, title, licence, source, fields, configs };
}

function factLines(set: ProblemSet): string[] {
  const splits = Object.entries(set.configs).flatMap(([config, { splits: all }], index) =>
    Object.entries(all).map(([split, { rows }]) => [
      `${config}${index === 0 ? " (default)" : ""}`,
      split,
      showCount(rows),
    ]),
  );
  const columns = [{ title: "config" }, { title: "split" }, { title: "rows", align: "right" as const }];
  const [first] = Object.values(set.configs);
  const split = Object.keys(first?.splits ?? {}).at(-1) ?? "test";
  return [
    `${set.name}: ${set.title}`,
    `hub      ${set.hub}`,
    `licence  ${set.licence}`,
    `source   ${set.source}`,
    "",
    ...tableLines(columns, splits),
    "",
    ...tableLines([{ title: "field" }, { title: "what it is" }], Object.entries(set.fields)),
    "",
    `\`${command("data", "show", set.name, `${split}[:3]`)}\` prints problems`,
  ];
}

async function printProblems(name: string, slices: string, options: ShowArguments): Promise<void> {
  using progress = showProgress();
  const source = await sourceOf(await openDataset(datasetGiven(name, options), progress.options), slices);
  const shown = Math.min(options.count, source.size);
  for (let index = 0; index < shown; index++) {
    const problem = await source.at(index);
    if (options.json) await printJsonLine(problem);
    else printLines([...problemLines(problem, source.rows[index] ?? index), ""]);
  }
  if (options.json) return;
  const skipped =
    source.malformed.length === 0 ? "" : `; ${source.malformed.length} rows are malformed and skipped`;
  printLines([`${shown} of ${showCount(source.size)} problems${skipped}`]);
}

function problemLines(problem: AnyProblem, row: number): string[] {
  const facts = isMathProblem(problem) ? mathFacts(problem) : codeFacts(problem);
  return [
    `── row ${row}: ${showText(problem.id, 80)} ──`,
    showText(facts.join(", "), 200),
    "",
    showLines(problem.prompt.replaceAll("\r", "")).trimEnd(),
  ];
}

function mathFacts({ answers, subject, difficulty }: MathProblem): readonly string[] {
  return [`answer ${answers.join(" or ")}`, subject, difficulty].filter((fact) => fact !== undefined);
}

function codeFacts(problem: CodeProblem): readonly string[] {
  const { entryPoint, tests, shownTests, solutions, limits = {}, difficulty } = problem;
  return [
    entryPoint === null ? "reads standard input" : `function ${entryPoint}`,
    testsText(tests) + (shownTests ? ` (${testCount(shownTests)} shown)` : ""),
    `${solutions.length} solutions`,
    ...(limits.seconds === undefined ? [] : [`${limits.seconds} s`]),
    ...(limits.memoryBytes === undefined ? [] : [showBytes(limits.memoryBytes)]),
    ...(difficulty === undefined ? [] : [difficulty]),
  ];
}

function testsText(tests: CodeTests): string {
  const count = testCount(tests);
  return `${showCount(count)} ${tests.kind === "python-check" ? "assertions in check()" : tests.kind}`;
}
