/** The description of a data set of programming or mathematics problems, and how its rows become problems. */
import type { Row } from "../formats/row.ts";
import type { AnyProblem } from "../problem-kinds.ts";

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
  /** @throws MalformedRow */
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
export class MalformedRow extends Error {}
