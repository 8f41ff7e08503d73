/**
 * Compares a program's output with the expected one as the graders of the sets do: white space is ignored, and numbers
 * are compared as numbers.
 */
import type { PrintedComparison } from "../../../data/problem.ts";

export interface OutputComparison {
  /** Tolerance for numbers. */
  readonly relative: number;
  readonly absolute: number;
  /** Line breaks count, and white space in lines that are not all numbers. */
  readonly byLine: boolean;
  readonly ignoresCase: boolean;
}

export const comparisons = {
  /** As in `numpy.allclose`, which APPS's grader uses. */
  close: { relative: 1e-5, absolute: 1e-8, byLine: false, ignoresCase: false },
  /** As in LiveCodeBench's grader. */
  exact: { relative: 0, absolute: 0, byLine: true, ignoresCase: false },
  /** As in CodeContests' grader. */
  contests: { relative: 0, absolute: 1e-5, byLine: false, ignoresCase: true },
} as const satisfies Readonly<Record<PrintedComparison, OutputComparison>>;

export function isSameOutput(printed: string, expected: string, comparison: OutputComparison): boolean {
  const [left, right] = comparison.byLine
    ? [linesOf(printed), linesOf(expected)]
    : [tokensOf(printed), tokensOf(expected)];
  return areSame(left, right, (one, other) =>
    comparison.byLine ? isSameLine(one, other, comparison) : isSame(one, other, comparison),
  );
}

function areSame<Item>(
  left: readonly Item[],
  right: readonly Item[],
  isEqual: (one: Item, other: Item) => boolean,
): boolean {
  return left.length === right.length && left.every((one, index) => isEqual(one, right[index] as Item));
}

function isSameLine(printed: string, expected: string, comparison: OutputComparison): boolean {
  if (printed === expected) return true;
  const [left, right] = [tokensOf(printed), tokensOf(expected)];
  return areSame(left, right, (one, other) => decimal.test(one) && isSame(one, other, comparison));
}

function linesOf(text: string): readonly string[] {
  return text
    .trim()
    .split("\n")
    .map((line) => line.trim());
}

function tokensOf(text: string): readonly string[] {
  return text.split(/\s+/).filter((token) => token !== "");
}

/** Unambiguous, so that thousands of digits followed by a letter are read in linear time. */
const decimal = /^[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?$/i;

function isSame(
  printed: string,
  expected: string,
  { relative, absolute, ignoresCase }: OutputComparison,
): boolean {
  if (printed === expected) return true;
  if (ignoresCase && printed.toLowerCase() === expected.toLowerCase()) return true;
  if (!decimal.test(printed) || !decimal.test(expected)) return false;
  // Integers are compared exactly: 10000001 is not 10000000.
  if (isInteger(printed) && isInteger(expected)) return BigInt(printed) === BigInt(expected);
  return Math.abs(Number(printed) - Number(expected)) <= absolute + relative * Math.abs(Number(expected));
}

function isInteger(token: string): boolean {
  return /^-?\d+$/.test(token);
}
