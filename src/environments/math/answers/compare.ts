/** Whether two answers are equal, according to their kinds. Expressions are left to a computer-algebra system. */
import { normalised, withoutSpaces } from "./normalise.ts";
import { isTime, quotientsOf, isRoundingOf, sameRational, type Rational } from "./rational.ts";
import { readings, type ParsedAnswer } from "./read.ts";
import { areOtherUnits } from "./units.ts";

export interface Algebra {
  /** Whether two LaTeX expressions have the same value, whatever their variables are. */
  same(one: string, other: string): boolean;
  /** Whether the equations `left = right` are multiples of each other. */
  sameEquation(one: Equation, other: Equation): boolean;
}

export interface Equation {
  readonly left: string;
  readonly right: string;
}

/** Symmetric. */
export function sameAnswer(one: string, other: string, algebra: Algebra): boolean {
  const { text: left, unit } = normalised(one);
  const { text: right, unit: otherUnit } = normalised(other);
  if (left === "" || right === "" || areOtherUnits(unit, otherUnit)) return false;
  if (withoutSpaces(left) === withoutSpaces(right)) return true;
  return readings(left).some((a) => readings(right).some((b) => same(a, b, algebra)));
}

type Kind = ParsedAnswer["kind"];
type Of<K extends Kind> = Extract<ParsedAnswer, { readonly kind: K }>;

const sameKind: { readonly [K in Kind]: (a: Of<K>, b: Of<K>, algebra: Algebra) => boolean } = {
  number: (a, b) => sameRational(a.value, b.value),
  words: (a, b) => a.text === b.text,
  choice: (a, b) => a.letter === b.letter,
  based: (a, b) => a.base === b.base && a.digits === b.digits,
  residue: (a, b) => a.residue === b.residue && a.modulus === b.modulus,
  set: (a, b, algebra) => sameItems(a.items, b.items, algebra),
  ratio: (a, b, algebra) => sameRatio(a.parts, b.parts, algebra),
  assignment: (a, b, algebra) => sameAssignment(a, b, algebra),
  tuple: (a, b, algebra) => sameBrackets(a, b) && sameInOrder(a.items, b.items, algebra),
  union: (a, b, algebra) => sameItems(a.parts, b.parts, algebra),
  matrix: (a, b, algebra) =>
    a.bars === b.bars &&
    a.rows.length === b.rows.length &&
    a.rows.every((row, index) => sameInOrder(row, b.rows[index] ?? [], algebra)),
  named: (a, b, algebra) => a.name === b.name && same(a.value, withArgument(b, a.argument), algebra),
  equation: (a, b, algebra) => algebra.sameEquation(a, b),
  expression: (a, b, algebra) => algebra.same(a.latex, b.latex),
};

function same(a: ParsedAnswer, b: ParsedAnswer, algebra: Algebra): boolean {
  if (a.kind === b.kind) return (sameKind[a.kind] as SameKind)(a, b, algebra);
  return mixed(a, b, algebra) || mixed(b, a, algebra);
}

/** f(n) = n + 1 as f(x) = x + 1; f(n) = nx as f(x) = xn. */
function withArgument({ argument, value, text }: Of<"named">, other: string | null): ParsedAnswer {
  if (argument === null || other === null || argument === other) return value;
  const names: Readonly<Record<string, string>> = { [argument]: other, [other]: argument };
  const renamed = text.replace(/\\[a-zA-Z]+|[a-zA-Z]/g, (found) =>
    Object.hasOwn(names, found) ? (names[found] ?? found) : found,
  );
  return readings(renamed)[0] ?? value;
}

type SameKind = (a: ParsedAnswer, b: ParsedAnswer, algebra: Algebra) => boolean;

/** Answers of two kinds: one is less explicit. */
function mixed(a: ParsedAnswer, b: ParsedAnswer, algebra: Algebra): boolean {
  if (a.kind === "named" && a.value.kind !== "named") {
    if (b.kind === "equation")
      return algebra.sameEquation({ left: a.name, right: latexOf(a.value) ?? "" }, b);
    return b.kind !== "words" && same(a.value, b, algebra);
  }
  if (a.kind === "choice") return b.kind === "expression" && b.latex === a.letter;
  if (a.kind === "based") return b.kind === "number" && withoutCommas(b.latex) === a.digits;
  if (a.kind === "residue") return b.kind === "number" && isIn(a, b.value);
  if (a.kind === "assignment") return sameUnnamed(a, b, algebra);
  if (a.kind === "set") return sameSingle(a, b, algebra);
  if (a.kind === "ratio") return sameQuotient(a.parts, b, algebra);
  if (a.kind === "matrix")
    return a.bars === "" && b.kind === "tuple" && sameInOrder(vectorOf(a), b.items, algebra);
  if (a.kind === "number") return b.kind === "expression" && algebra.same(a.latex, b.latex);
  return false;
}

function isIn({ residue }: Of<"residue">, { numerator, denominator }: Rational): boolean {
  return numerator === residue * denominator;
}

/** A set of one item; or of several ways to write the same, as in `1/3 or 0.33`. */
function sameSingle({ items, isChoice }: Of<"set">, b: ParsedAnswer, algebra: Algebra): boolean {
  const matches = items.map((item) => same(item, b, algebra));
  if (!isChoice || !matches.includes(true)) return items.length === 1 && matches[0] === true;
  return items.every((item, index) => matches[index] === true || isRounded(item, b));
}

function isRounded(item: ParsedAnswer, b: ParsedAnswer): boolean {
  return item.kind === "number" && b.kind === "number" && isRoundingOf(item.value, b.value);
}

function sameAssignment(a: Of<"assignment">, b: Of<"assignment">, algebra: Algebra): boolean {
  const values = new Map(b.items.map(({ name, value }) => [name, value]));
  const isSame = (name: string, value: ParsedAnswer) => {
    const other = values.get(name);
    return other !== undefined && same(value, other, algebra);
  };
  return a.items.length === b.items.length && a.items.every(({ name, value }) => isSame(name, value));
}

/** As a tuple, or a list in the same order. */
function sameUnnamed({ items }: Of<"assignment">, b: ParsedAnswer, algebra: Algebra): boolean {
  if (b.kind !== "tuple" && b.kind !== "set") return false;
  if (b.kind === "tuple" && b.left === "[") return false;
  const values = items.map(({ value }) => value);
  return sameInOrder(values, b.items, algebra);
}

function sameRatio(a: readonly string[], b: readonly string[], algebra: Algebra): boolean {
  if (a.length !== b.length || (isTime(a) && isTime(b)))
    return withoutSpaces(a.join(":")) === withoutSpaces(b.join(":"));
  const others = quotientsOf(b);
  return quotientsOf(a).every((quotient, index) => algebra.same(quotient, others[index] ?? ""));
}

/** 3:4 as 3/4. */
function sameQuotient(parts: readonly string[], b: ParsedAnswer, algebra: Algebra): boolean {
  const [quotient = ""] = quotientsOf(parts);
  const other = latexOf(b);
  return parts.length === 2 && other !== null && algebra.same(quotient, other);
}

function withoutCommas(text: string): string {
  return text.replace(/[, ]/g, "");
}

function latexOf(answer: ParsedAnswer): string | null {
  return answer.kind === "number" || answer.kind === "expression" ? answer.latex : null;
}

/** A matrix of one column or one row. */
function vectorOf({ rows }: Of<"matrix">): readonly ParsedAnswer[] {
  if (rows.every((row) => row.length === 1)) return rows.flat();
  return rows.length === 1 ? (rows[0] as readonly ParsedAnswer[]) : [];
}

/** With two items, brackets distinguish kinds of intervals; longer tuples may have any brackets. */
function sameBrackets(a: Of<"tuple">, b: Of<"tuple">): boolean {
  if (a.items.length > 2 || b.items.length > 2) return true;
  const round = ({ left, right }: Of<"tuple">) =>
    `${left}${right}`.replace("\\langle", "(").replace("\\rangle", ")");
  return round(a) === round(b);
}

function sameInOrder(a: readonly ParsedAnswer[], b: readonly ParsedAnswer[], algebra: Algebra): boolean {
  return (
    a.length > 0 &&
    a.length === b.length &&
    a.every((item, index) => same(item, b[index] as ParsedAnswer, algebra))
  );
}

/** More items are compared in order only. */
const mostUnordered = 32;

/** Each item of one list has its own in the other; repeated items count once. */
function sameItems(a: readonly ParsedAnswer[], b: readonly ParsedAnswer[], algebra: Algebra): boolean {
  if (a.length === b.length && sameText(a, b)) return true;
  if (Math.max(a.length, b.length) > mostUnordered) return sameInOrder(a, b, algebra);
  const covers = (these: readonly ParsedAnswer[], those: readonly ParsedAnswer[]) =>
    these.every((item) => those.some((other) => same(item, other, algebra)));
  return covers(a, b) && covers(b, a);
}

function sameText(a: readonly ParsedAnswer[], b: readonly ParsedAnswer[]): boolean {
  return JSON.stringify(a, asText) === JSON.stringify(b, asText);
}

function asText(_: string, value: unknown): unknown {
  return typeof value === "bigint" ? String(value) : value;
}
