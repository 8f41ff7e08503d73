/** Checks that a module exports a row of the table of algorithms, and that it builds an algorithm. */
import type { Algorithm } from "../../credit/algorithm.ts";
import { plain, type AlgorithmRow } from "../../credit/rows/row.ts";
import { columnFault } from "./algorithm-columns.ts";
import { isObject, kindOf, listed } from "./exported.ts";
import { ModuleError } from "./load-module.ts";
import { rejectUnknown, type Complete } from "./unknown-keys.ts";

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
    ...(isGrouping(grouping) ? [] : ["`grouping` needs the functions `key` and `unit`"]),
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
  return isObject(value) && typeof value["key"] === "function" && typeof value["unit"] === "function";
}

function isObjective(value: unknown): boolean {
  if (!isObject(value) || !isObject(value["loss"])) return false;
  return typeof value["loss"]["type"] === "string" && typeof value["aggregation"] === "string";
}
