/** The description of a data set of programming or mathematics problems, and how its rows become problems. */
import { z } from "zod";
import { showText } from "../../format.ts";
import type { Row } from "../formats/row.ts";
import type { AnyProblem } from "../problem.ts";

export interface ProblemSet {
  /** Its name in recipes and commands. */
  readonly name: string;
  /** Its name on the hub. */
  readonly hub: string;
  readonly title: string;
  /** From its card: an SPDX name, or the card's words. */
  readonly licence: string;
  /** Sources of this entry. */
  readonly source: string;
  /** The fields that are read, with their meanings. */
  readonly fields: Readonly<Record<string, string>>;
  /** The first is the default. */
  readonly configs: Readonly<Record<string, ProblemSetConfig>>;
  /** Columns to read of parquet files; absent: all. Solutions in other languages make up most of some sets. */
  readonly columns?: readonly string[];
  /** A row with the id of an earlier one is left out, as if the set did not have it. */
  readonly dropsRepeats?: boolean;
  /** Increase it with every change of `problem`, so that rows are prepared again. */
  readonly version: number;
  /** @throws RowError */
  problem(row: Row, at: RowPlace): AnyProblem;
}

export interface ProblemSetConfig {
  readonly splits: Readonly<Record<string, SplitFacts>>;
}

export interface SplitFacts {
  /** As published; another number is reported. */
  readonly rows: number;
  /** Files of the split, in this order, if names alone are ambiguous; the first complete list counts. */
  readonly files?: readonly (readonly string[])[];
}

export interface RowPlace {
  readonly split: string;
  /** From 0, of the split. */
  readonly row: number;
}

/** A row that is not a valid problem, and why. */
export class RowError extends Error {}

/** The row, checked by the schema. @throws RowError with the first problem */
export function fieldsOf<T>(row: Row, schema: z.ZodType<T>): T {
  const result = schema.safeParse(row);
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  throw new RowError(`${issue?.path.join(".") ?? "row"}: ${showText(issue?.message ?? "", 200)}`);
}

/** A field that holds JSON as a text. @throws RowError */
export function jsonField<T>(name: string, text: string, parse: (text: string) => T): T {
  try {
    return parse(text);
  } catch (error) {
    if (error instanceof RowError) throw error;
    throw new RowError(`${name}: ${showText((error as Error).message, 200)}`);
  }
}

/** The code before the definition of the function: imports and helpers. @throws RowError if it is not defined */
export function codeBefore(entryPoint: string, code: string): string {
  const definition = new RegExp(String.raw`^(?:async\s+)?def\s+${entryPoint}\s*\(`, "gm");
  const last = [...code.matchAll(definition)].at(-1);
  if (last === undefined) throw new RowError(`prompt: no definition of the entry point ${entryPoint}`);
  return code
    .slice(0, last.index)
    .replace(/^\s*\n/, "")
    .trimEnd();
}

/**
 * What the graders of APPS and LiveCodeBench import before every program. Programs rely on it: LiveCodeBench's classes begin
 * with `List[int]`. APPS's grader also imports numpy; here that would take longer than most tests.
 */
function modules(...names: readonly string[]): string {
  return `import ${names.join(", ")}\n`;
}

function everythingOf(...names: readonly string[]): string {
  return names.map((name) => `from ${name} import *\n`).join("");
}

export const appsImports =
  modules("collections", "fractions", "heapq", "itertools", "math", "random", "sys", "time") +
  "from collections import ChainMap, Counter, OrderedDict, defaultdict, deque\n" +
  "from functools import lru_cache\n" +
  "from itertools import accumulate, combinations, permutations, product\n" +
  "from math import ceil, cos, exp, fabs, floor, gcd, log, log2, sin, sqrt, tan\n" +
  "from typing import List, Tuple\n" +
  everythingOf("heapq") +
  "stdin, stdout = sys.stdin, sys.stdout\n";

/** In the grader's order: the last of two things with one name counts, such as Python's own `pow`. */
export const liveCodeBenchImports =
  everythingOf("string", "re", "datetime", "collections", "heapq", "bisect", "copy", "math", "random") +
  everythingOf(
    "statistics",
    "itertools",
    "functools",
    "operator",
    "io",
    "sys",
    "json",
    "builtins",
    "typing",
  ) +
  modules("string", "re", "datetime", "collections", "heapq", "bisect", "copy", "math", "random") +
  modules("statistics", "itertools", "functools", "operator", "io", "sys", "json") +
  "sys.setrecursionlimit(50000)\n";
