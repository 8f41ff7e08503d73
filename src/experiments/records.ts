/** The numbers of an experiment in its report's JSON, which the pages are made from. */
import { readFileSync } from "node:fs";
import { z } from "zod";
import { TroupeError } from "../errors.ts";
import { showPath } from "../recipes/tree.ts";
import { name } from "./definition.ts";

export const recordVersion = 1;

const numbers = z.object({
  /** Of the tasks. Absent: heldOut. */
  split: z.string().optional(),
  /** Distinct tasks of the final evaluation. */
  tasks: z.int(),
  successes: z.int(),
  success: z.number(),
  /** 1 for each task that was solved, else 0, in their order. Absent: unknown. */
  solved: z.string().optional(),
  score: z.number(),
  /** Mean number of turns started. */
  turns: z.number(),
  /** Episodes of each task, and the 95 % interval of the success. Absent: one. */
  sampled: z.object({ samples: z.int(), low: z.number(), high: z.number() }).optional(),
  /** Of the final evaluation, by k. */
  passAt: z.record(z.string(), z.object({ mean: z.number(), low: z.number(), high: z.number() })).optional(),
  /** Means of the terms of the team's reward in the final evaluation. */
  terms: z.record(z.string(), z.number()).optional(),
  /** Of the final evaluation: sampled tokens and wall-clock seconds, divided by its episodes. */
  perEpisode: z.object({ tokens: z.number(), seconds: z.number().optional() }).optional(),
  /** Of the final evaluation: a judge's mean score, rank correlation with the outcome, and share of correct blame. */
  judge: z
    .object({ score: z.number(), correlation: z.number().nullable(), blame: z.number().nullable() })
    .optional(),
  /** Success of intermediate evaluations, by step of reinforcement. */
  curve: z.array(z.object({ step: z.int(), sampledTokens: z.int(), success: z.number(), tasks: z.int() })),
  /** Steps of reinforcement. */
  steps: z.int(),
  /** Optimizer steps of the policy with the most. */
  updates: z.int(),
  tokens: z.object({
    /** In training, without evaluations. */
    sampled: z.int(),
    /** Trained on, all policies together. */
    trained: z.int(),
  }),
  /** Wall-clock time, including evaluations. */
  seconds: z.number(),
  /** Of all policies of the team. */
  parameters: z.int(),
});
export type CellNumbers = z.output<typeof numbers>;

const cell = z.object({
  /** Row, or shared training. */
  row: z.string(),
  column: z.string(),
  seed: z.int(),
  hash: z.string(),
  /** Fingerprint of the training whose own table has the result: nothing was run for it. */
  readFrom: z.string().optional(),
  status: z.enum(["done", "failed", "missing"]),
  problem: z.string().optional(),
  numbers: numbers.optional(),
  /** Index into `sessions`; absent if the cell was found done and no earlier report said when it ran. */
  session: z.int().optional(),
});
export type CellRecord = z.output<typeof cell>;

const titled = z.object({ name: z.string(), title: z.string() });

const measure = titled.extend({
  terms: z.record(z.string(), z.number()).optional(),
  passAt: z.int().optional(),
  value: z.enum(["tokens", "seconds"]).optional(),
  judge: z.enum(["score", "correlation", "blame"]).optional(),
});
export type MeasureRecord = z.output<typeof measure>;

const session = z.object({
  date: z.string(),
  /** As called. */
  command: z.string(),
  version: z.string(),
  commit: z.string().nullable(),
  processor: z.string(),
  cores: z.int(),
  /** Concurrent cells, and threads of each. */
  jobs: z.int(),
  threads: z.int(),
});
export type ReportSession = z.output<typeof session>;

/** Files have the keys in this order, whatever the numbers were read from. */
export const reportSchema = z.object({
  schema_version: z.literal(recordVersion),
  /** Also the name of the report's files. */
  experiment: name,
  title: z.string(),
  description: z.string(),
  notes: z.string(),
  /** The command that makes the whole report, or continues it in place. */
  command: z.string(),
  seeds: z.array(z.int()),
  columns: z.array(titled),
  rows: z.array(
    titled.extend({
      kind: z.enum(["train", "evaluate"]),
      point: z.object({ of: z.string(), at: z.union([z.number(), z.string()]) }).optional(),
    }),
  ),
  shared: z.array(titled),
  measures: z.array(measure).optional(),
  baseline: z.string().optional(),
  published: z
    .object({
      source: z.string(),
      values: z.record(z.string(), z.record(z.string(), z.number())),
      /** By column, row and measure. */
      measures: z.record(z.string(), z.record(z.string(), z.record(z.string(), z.number()))).optional(),
    })
    .optional(),
  cells: z.array(cell),
  sessions: z.array(session),
});
export type ReportRecord = z.output<typeof reportSchema>;

/** @throws TroupeError `bad_run` if Troupe did not write the file */
export function readReport(file: string): ReportRecord {
  let value: unknown;
  try {
    value = JSON.parse(readFileSync(file, "utf8"));
  } catch (cause) {
    const missing = (cause as NodeJS.ErrnoException).code === "ENOENT";
    const problem = missing ? "there is no such file" : (cause as Error).message;
    throw new TroupeError(
      missing ? "bad_arguments" : "bad_run",
      `cannot read the report ${showPath(file)}: ${problem}`,
      { cause },
    );
  }
  const parsed = reportSchema.safeParse(value);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  const where = issue === undefined || issue.path.length === 0 ? "" : ` at ${issue.path.join(".")}`;
  throw new TroupeError(
    "bad_run",
    `${showPath(file)} is not the JSON of an experiment's report${where}: ${issue?.message ?? "unexpected"}. ` +
      "Give the file that the experiment wrote, or remove it to begin a new report.",
  );
}
