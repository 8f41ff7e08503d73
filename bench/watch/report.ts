/**
 * Which limits runs crossed, when, and how far success had fallen by then.
 *
 *     node bench/watch/report.ts runs/healthy-0 runs/healthy-1 …           # the limits of healthy.yaml, for the page
 *     node bench/watch/report.ts --limits RUN …                            # the limits of pretrained models, on any run
 *
 * Signs follow from records alone, so limits can be tried on runs that are over: for false alarms.
 */
import fs from "node:fs/promises";
import path from "node:path";
import { parse } from "yaml";
import { pretrainedLimits, watchSettings, type Watch } from "../../src/recipes/watch.ts";
import { readEvaluations, readMetrics, readRecipe } from "../../src/runs/read.ts";
import type { StepMetrics } from "../../src/runs/records.ts";
import { mean } from "../../src/statistics.ts";
import { describeSign, signsIn, type Sign } from "../../src/train/watch.ts";

interface Recipe {
  readonly name: string;
  readonly seed: number;
  readonly team: { readonly roles: Readonly<Record<string, { readonly frozen?: boolean }>> };
  readonly warmStart?: { readonly steps: number };
}

interface Found extends Omit<Sign, "action"> {
  /** Of reinforcement, from 1. */
  readonly step: number;
}

async function reinforcement(directory: string): Promise<readonly StepMetrics[]> {
  return (await readMetrics(directory)).filter(({ stage }) => stage === "reinforcement");
}

/** What the limits would have said after each step. */
async function replayed(directory: string, limits: Watch["limits"]): Promise<readonly Found[]> {
  const { team, warmStart } = (await readRecipe(directory)) as Recipe;
  const roles = Object.entries(team.roles).flatMap(([name, { frozen }]) => (frozen === true ? [] : [name]));
  const metrics = await reinforcement(directory);
  const evaluations = (await readEvaluations(directory)).filter(
    ({ team: name, step }) => name === "team" && step >= (warmStart?.steps ?? 0),
  );
  const watch = { ...watchSettings.parse({}), limits };
  return metrics.flatMap(({ step, stageStep }, index) =>
    signsIn({
      watch,
      roles,
      metrics: metrics.slice(0, index + 1),
      evaluations: evaluations.filter((one) => one.step <= step),
      since: 0,
    }).map((sign) => ({ ...sign, step: stageStep })),
  );
}

/** Success in training, mean of five steps. */
function successAt(metrics: readonly StepMetrics[], index: number): number {
  return mean(metrics.slice(Math.max(0, index - 4), index + 1).map(({ rollout }) => rollout?.success ?? 0));
}

const percent = (share: number) => `${(100 * share).toFixed(1)} %`;

/** With the limits of healthy.yaml: when each figure first gave a sign, by recipe and seed. */
async function page(directories: readonly string[]): Promise<string[]> {
  const file = path.join(import.meta.dirname, "healthy.yaml");
  const { watch } = parse(await fs.readFile(file, "utf8")) as { readonly watch: unknown };
  const { limits } = watchSettings.parse(watch);
  const runs = await Promise.all(directories.map((directory) => watched(directory, limits)));
  const lines = ["| recipe | sign | after step | success then |", "| --- | --- | ---: | ---: |"];
  for (const [recipe, own] of Map.groupBy(runs, (run) => run.recipe)) {
    const seeds = own.toSorted((one, other) => one.seed - other.seed);
    const row = (sign: string, cells: readonly (readonly [step: string, success: string])[]) =>
      lines.push(
        `| ${[recipe, sign, ...[0, 1].map((at) => cells.map((cell) => cell[at]).join(", "))].join(" | ")} |`,
      );
    for (const sign of new Set(seeds.flatMap(({ first }) => [...first.keys()]))) {
      const found = seeds.map(({ first }) => first.get(sign));
      row(
        sign,
        found.map((one) => (one === undefined ? ["–", "–"] : [String(one.step), percent(one.success)])),
      );
    }
    row(
      "the end",
      seeds.map(({ steps, end }) => [String(steps), percent(end)]),
    );
  }
  return lines;
}

interface Watched {
  readonly recipe: string;
  readonly seed: number;
  /** By what it is of, as people read it; only the first of each. */
  readonly first: ReadonlyMap<string, Found>;
  readonly steps: number;
  /** Success in training at the end. */
  readonly end: number;
}

async function watched(directory: string, limits: Watch["limits"]): Promise<Watched> {
  const { name, seed } = (await readRecipe(directory)) as Recipe;
  const metrics = await reinforcement(directory);
  const first = new Map<string, Found>();
  for (const sign of await replayed(directory, limits)) {
    const what = sign.of === undefined ? sign.measure : `${sign.measure} of ${sign.of}`;
    if (!first.has(what)) first.set(what, sign);
  }
  const steps = metrics.length;
  return { recipe: name, seed, first, steps, end: successAt(metrics, steps - 1) };
}

async function alarms(directories: readonly string[]): Promise<string[]> {
  let steps = 0;
  const lines: string[] = [];
  for (const directory of directories) {
    steps += (await reinforcement(directory)).length;
    const found = await replayed(directory, pretrainedLimits);
    lines.push(...found.map((sign) => `${directory}: step ${sign.step}: ${describeSign(sign)}`));
  }
  return [...lines, `${directories.length} runs, ${steps} steps of reinforcement, ${lines.length} signs`];
}

const [first = "", ...rest] = process.argv.slice(2);
const lines = first === "--limits" ? await alarms(rest) : await page([first, ...rest]);
console.log(lines.join("\n"));
