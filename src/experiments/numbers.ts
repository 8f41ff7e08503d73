/** The numbers of a finished cell, read from its run's folder. */
import { readFileSync } from "node:fs";
import { z } from "zod";
import { TroupeError } from "../errors.ts";
import { layoutOf } from "../runs/layout.ts";
import { readEvaluations, readMetrics, readResult, readTimings } from "../runs/read.ts";
import { evaluationSchema } from "../runs/records.ts";
import type { Calibration, Evaluation, RunResult, StepMetrics } from "../runs/records.ts";
import { isInTable } from "./counts.ts";
import type { Folders } from "./folders.ts";
import { doneFile, evaluationFile } from "./folders.ts";
import type { Cell } from "./grid.ts";
import type { CellNumbers } from "./records.ts";

/** The cell's last file, which is written after everything else. */
export function lastFile(cell: Cell, folders: Folders): string {
  return cell.kind === "evaluate" && isInTable(cell)
    ? layoutOf(folders.of(cell.run)).result
    : doneFile(cell, folders);
}

/** @throws TroupeError `bad_run` if a file is missing or damaged */
export async function numbersOf(cell: Cell, folders: Folders): Promise<CellNumbers> {
  if (cell.kind === "train") return trainingNumbers(folders.of(cell));
  if (isInTable(cell)) {
    const directory = folders.of(cell.run);
    const { table, policies } = await readResult(directory);
    const row = rowOf(table, cell.team);
    return untrained(row, parametersOf(policies), 0, await secondsOf(directory, row));
  }
  const { seconds, ...scores } = readEvaluation(evaluationFile(folders.of(cell)));
  const { policies } = await readResult(folders.of(cell.run));
  return untrained(scores, parametersOf(policies), seconds, seconds);
}

async function trainingNumbers(directory: string): Promise<CellNumbers> {
  const result = await readResult(directory);
  const metrics = await readMetrics(directory);
  const warmSteps = result.steps.warmStart;
  const row = rowOf(result.table, "team");
  return {
    ...scoresOf(row, await secondsOf(directory, row)),
    curve: curveOf(await readEvaluations(directory), metrics, warmSteps),
    steps: result.steps.reinforcement,
    updates: updatesOf(metrics),
    tokens: { sampled: total(metrics.map(sampledTokens)), trained: result.tokens.trained },
    seconds: result.seconds.total,
    parameters: parametersOf(result.policies),
  };
}

type Scores = Omit<PrintedEvaluation, "seconds">;

/** @param seconds of the evaluation; null: unknown */
function scoresOf(scores: Scores, seconds: number | null): EvaluatedNumbers {
  const {
    split,
    tasks,
    samples,
    successes,
    success,
    solved,
    low,
    high,
    score,
    turns,
    passAt,
    terms,
    judged,
    calibration,
  } = scores;
  return {
    ...(split === undefined ? {} : { split }),
    tasks,
    successes,
    success,
    ...(solved === undefined ? {} : { solved }),
    score,
    turns,
    ...(samples === undefined ? {} : { sampled: { samples, low, high } }),
    ...(passAt === undefined ? {} : { passAt }),
    ...(terms === undefined ? {} : { terms: meansOf(terms.team) }),
    ...perEpisode(scores, seconds),
    ...(judged === undefined ? {} : { judge: judgeNumbers(judged, calibration) }),
  };
}

function judgeNumbers(
  score: number,
  { correlation = null, blame }: Partial<Calibration> = {},
): NonNullable<CellNumbers["judge"]> {
  return { score, correlation, blame: blame === undefined ? null : blame.correct / blame.named };
}

type EvaluatedNumbers = Pick<
  CellNumbers,
  | "split"
  | "tasks"
  | "successes"
  | "success"
  | "solved"
  | "score"
  | "turns"
  | "sampled"
  | "passAt"
  | "terms"
  | "perEpisode"
  | "judge"
>;

function meansOf(terms: Readonly<Record<string, { readonly mean: number }>>): Record<string, number> {
  return Object.fromEntries(Object.entries(terms).map(([name, { mean }]) => [name, mean]));
}

function perEpisode(
  { tasks: count, samples = 1, sampledTokens: sampled }: Scores,
  seconds: number | null,
): Pick<CellNumbers, "perEpisode"> {
  if (sampled === undefined) return {};
  const episodes = count * samples;
  const time = seconds === null ? {} : { seconds: seconds / episodes };
  return { perEpisode: { tokens: sampled / episodes, ...time } };
}

/** The wall-clock seconds of an evaluation of a run. Null: an older run does not say. */
async function secondsOf(directory: string, { step, team }: Evaluation): Promise<number | null> {
  const timings = await readTimings(directory);
  const own = timings.filter((one) => one.what === "evaluation" && one.step === step && one.team === team);
  return own.at(-1)?.seconds ?? null;
}

function untrained(
  scores: Scores,
  parameters: number,
  seconds: number,
  evaluationSeconds: number | null,
): CellNumbers {
  const tokens = { sampled: 0, trained: 0 };
  const measured = scoresOf(scores, evaluationSeconds);
  return { ...measured, curve: [], steps: 0, updates: 0, tokens, seconds, parameters };
}

function rowOf(table: readonly Evaluation[], wanted: string): Evaluation {
  const row = table.find(({ team, moment }) => team === wanted && moment === "after");
  if (row !== undefined) return row;
  throw new TroupeError("bad_run", `the run's result has no evaluation of ${wanted} after training`);
}

function curveOf(
  evaluations: readonly Evaluation[],
  metrics: readonly StepMetrics[],
  warmSteps: number,
): CellNumbers["curve"] {
  return evaluations
    .filter(({ team, step }) => team === "team" && step >= warmSteps)
    .map(({ step, success, tasks }) => ({
      step: step - warmSteps,
      sampledTokens: total(metrics.filter((each) => each.step <= step).map(sampledTokens)),
      success,
      tasks,
    }));
}

function sampledTokens({ rollout }: StepMetrics): number {
  return rollout?.sampledTokens ?? 0;
}

/** Of the policy with the most. */
function updatesOf(metrics: readonly StepMetrics[]): number {
  const made: Record<string, number> = {};
  for (const { policies } of metrics)
    for (const [name, { optimizerSteps }] of Object.entries(policies))
      made[name] = (made[name] ?? 0) + optimizerSteps;
  return Math.max(0, ...Object.values(made));
}

function parametersOf(policies: RunResult["policies"]): number {
  return total(Object.values(policies).map(({ parameters }) => parameters));
}

const printedSchema = evaluationSchema
  .omit({ schema_version: true, step: true, moment: true, team: true })
  .extend({ seconds: z.number() });
export type PrintedEvaluation = z.output<typeof printedSchema>;

/** Parses the output of `troupe eval --json`. @throws TroupeError `bad_run` */
export function parseEvaluation(text: string, where: string): PrintedEvaluation {
  try {
    return printedSchema.parse(JSON.parse(text));
  } catch (cause) {
    throw new TroupeError("bad_run", `${where} is not what \`eval --json\` prints`, { cause });
  }
}

function readEvaluation(file: string): PrintedEvaluation {
  return parseEvaluation(readFileSync(file, "utf8"), file);
}

function total(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0);
}
