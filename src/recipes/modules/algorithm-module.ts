/** Checks that a module exports a row of the table of algorithms, and that it builds an algorithm. */
import { z } from "zod";
import { faultOf, functionSchema, strict } from "../../arguments.ts";
import type { Algorithm, AlgorithmRow } from "../../credit/algorithm.ts";
import { plain } from "../../credit/rows/options.ts";
import { lossFault } from "../../engines/checks.ts";
import { isObject, kindOf, listed, rejectUnknown, type Complete } from "./exported.ts";
import { ModuleError } from "./load-module.ts";

/** A row from a module: its options need not be a zod schema. */
export interface GivenRow {
  readonly source?: string;
  readonly options: { parse(input: unknown): unknown };
  build(options: unknown): unknown;
}

export function asRow(value: unknown, given: string): GivenRow {
  if (isRow(value)) {
    rejectUnknown(value, rowKeys, given);
    return value;
  }
  const expected = "expected an algorithm's row, `{ source, summary, options, build }`";
  const fix = "see the example in docs/algorithms.md";
  throw new ModuleError(`${given}: ${expected}, found ${kindOf(value)}`, fix);
}

const rowKeys = {
  source: true,
  summary: true,
  options: true,
  build: true,
} as const satisfies Complete<AlgorithmRow>;

function isRow(value: unknown): value is GivenRow {
  return (
    isObject(value) &&
    typeof value["build"] === "function" &&
    isObject(value["options"]) &&
    typeof value["options"]["parse"] === "function"
  );
}

/** @param name of the algorithm, for messages */
export function asAlgorithm(columns: unknown, name: string, row: GivenRow, given: string): Algorithm {
  const faults = columnFaults(columns);
  const fix = "see the columns in docs/algorithms.md";
  if (faults.length > 0)
    throw new ModuleError(`${given}: \`build\` returned no algorithm: ${faults.join("; ")}`, fix);
  const algorithm = { ...plain, ...(columns as object), name, source: row.source ?? given } as Algorithm;
  const fault = columnFault(algorithm);
  if (fault === null) return algorithm;
  throw new ModuleError(`${given}: what \`build\` returned has a mistake: ${fault}`, fix);
}

const functions = ["score", "returns", "baseline", "scale"];

/** The columns without a default (`plain`). */
function columnFaults(value: unknown): readonly string[] {
  if (!isObject(value)) return [`found ${kindOf(value)}`];
  const missing = functions.filter((name) => typeof value[name] !== "function");
  const { sampling, grouping, objective } = value;
  return [
    ...(missing.length === 0 ? [] : [`no function ${listed(missing)}`]),
    ...(isSampling(sampling) ? [] : ["`sampling` needs `branch: { root, inner }` and `keep`"]),
    ...(isGrouping(grouping) ? [] : ["`grouping` needs the functions `key` and `sampleKey`"]),
    ...(isObjective(objective) ? [] : ["`objective` needs `loss: { type, … }` and `aggregation`"]),
  ];
}

function isSampling(value: unknown): boolean {
  if (!isObject(value) || !isObject(value["branch"])) return false;
  const { root, inner } = value["branch"];
  return isCount(root) && isCount(inner) && typeof value["keep"] === "string";
}

function isCount(value: unknown): boolean {
  return Number.isInteger(value) && Number(value) >= 1;
}

function isGrouping(value: unknown): boolean {
  return isObject(value) && typeof value["key"] === "function" && typeof value["sampleKey"] === "function";
}

function isObjective(value: unknown): boolean {
  if (!isObject(value) || !isObject(value["loss"])) return false;
  return typeof value["loss"]["type"] === "string" && typeof value["aggregation"] === "string";
}

const count = z.int().min(1);
const positive = z.number().gt(0);
const atLeast0 = z.number().min(0);

const loss = z.unknown().superRefine((given, context) => {
  const fault = lossFault(given);
  if (fault !== null) context.addIssue({ code: "custom", message: fault });
});

const shape = {
  name: z.string(),
  source: z.string(),
  sampling: strict({
    branch: strict({ root: count, inner: count }),
    keep: z.enum(["all", "best", "first", "random"]),
    joint: z.enum(["aligned", "cross"]).optional(),
    rounds: z.literal(true).optional(),
    continued: z.literal("once").optional(),
    stopAbove: z.number().optional(),
  }),
  score: functionSchema,
  shaping: functionSchema.nullable(),
  overlong: strict({ length: count, buffer: count, penalty: positive }).nullable(),
  returns: functionSchema,
  grouping: strict({
    key: functionSchema,
    sampleKey: functionSchema,
    minibatchKey: functionSchema.optional(),
    spans: z.enum(["batch", "run"]).optional(),
  }),
  baseline: functionSchema,
  scale: functionSchema,
  tokenCredit: strict({ toTokens: functionSchema, chargesKl: z.boolean() }),
  whitening: functionSchema.nullable(),
  turnWeights: z.array(atLeast0).min(1).nullable(),
  earlyEndWeight: atLeast0,
  objective: strict({ loss, aggregation: z.enum(["token-mean", "sequence-mean", "sequence-sum"]) }),
  kl: strict({
    where: z.enum(["reward", "loss"]),
    to: z.string().min(1).optional(),
    estimator: z.enum(["k1", "k2", "k3"]),
    coefficient: atLeast0,
    target: positive.nullable(),
    horizon: count,
  }).nullable(),
  critic: strict({
    scope: z.enum(["role", "central"]),
    at: z.enum(["tokens", "prompt"]),
    clip: positive.nullable(),
    learningRate: positive.nullable(),
    epochs: count,
  }).nullable(),
  selection: strict({
    dropZeroVariance: z.boolean(),
    refills: z.int().min(0),
    truncated: z.enum(["train", "mask"]),
    downSample: count.optional(),
  }),
} satisfies Record<keyof Algorithm, z.ZodType>;

const columns = strict(shape);

/** The first mistake; null: none. */
export function columnFault(algorithm: Algorithm): string | null {
  return faultOf(columns, algorithm) ?? klFault(algorithm);
}

/** The term says what is measured, the loss what is added to it: one without the other changes nothing. */
function klFault({ kl, objective: { loss: chosen } }: Algorithm): string | null {
  const inLoss = "kl" in chosen ? chosen.kl : undefined;
  const wanted = kl?.where === "loss" ? kl.estimator : undefined;
  if (inLoss === wanted) return null;
  const [found, expected] = [inLoss ?? "none", wanted ?? "none"];
  return `objective.loss.kl: is ${found}, but the column \`kl\` puts ${expected} into the loss; use \`columns.withKl(objective, kl)\``;
}
