/** Exact values of expressions of whole numbers, at a point of fractions: arithmetic, factorials, roundings and remainders. */
import type { MathJson } from "./size.ts";

export interface Fraction {
  readonly numerator: bigint;
  /** Positive. */
  readonly denominator: bigint;
}

export type ExactPoint = Readonly<Record<string, Fraction>>;

/** Of a numerator or denominator. */
const mostBits = 200_000;
const largestFactorial = 5000;

/** @param tree as parsed, not simplified. Null: something in it is not exact, or too large */
export function exactValue(tree: MathJson, point: ExactPoint): Fraction | null {
  if (typeof tree === "number") return decimal(String(tree));
  if (typeof tree === "string") return Object.hasOwn(point, tree) ? (point[tree] ?? null) : null;
  if (!Array.isArray(tree)) return literal(tree);
  const [head, ...parts] = tree as readonly MathJson[];
  if (head === "InvisibleOperator" && isMixed(parts)) return null;
  const operation = operations[String(head)];
  const values = operation === undefined ? [] : parts.map((part) => exactValue(part, point));
  const known = values.filter((value) => value !== null);
  if (operation === undefined || known.length < parts.length || known.length === 0) return null;
  const value = operation(known);
  return value === null || isLong(value.numerator) || isLong(value.denominator) ? null : value;
}

export function sameFraction(a: Fraction, b: Fraction): boolean {
  return a.numerator * b.denominator === b.numerator * a.denominator;
}

type Operation = (values: readonly Fraction[]) => Fraction | null;

const operations: Readonly<Record<string, Operation>> = {
  Add: (values) => values.reduce(sum),
  Subtract: ([first = zero, ...others]) => others.map(negated).reduce(sum, first),
  Negate: only(negated),
  Multiply: (values) => values.reduce(product),
  InvisibleOperator: (values) => values.reduce(product),
  Divide: both(quotient),
  Rational: both(quotient),
  Power: both(power),
  Factorial: only(factorial),
  Floor: only(floor),
  Ceil: only((value) => negated(floor(negated(value)))),
  Abs: only((value) => (value.numerator < 0n ? negated(value) : value)),
  Mod: both(remainder),
  Delimiter: only((value) => value),
};

function only(operation: (value: Fraction) => Fraction | null): Operation {
  return ([value, ...others]) => (value === undefined || others.length > 0 ? null : operation(value));
}

function both(operation: (a: Fraction, b: Fraction) => Fraction | null): Operation {
  return ([a, b, ...others]) =>
    a === undefined || b === undefined || others.length > 0 ? null : operation(a, b);
}

const zero = whole(0n);

function whole(numerator: bigint): Fraction {
  return { numerator, denominator: 1n };
}

/** `{ num: "123" }`: a number with more digits. */
function literal(tree: MathJson): Fraction | null {
  const text = typeof tree === "object" && tree !== null && "num" in tree ? String(tree.num) : "";
  return decimal(text);
}

/** Of an integer or a decimal, as it is written. */
function decimal(text: string): Fraction | null {
  const [, integer = "", decimals = "", exponent = "0"] =
    /^(-?\d{1,1000})(?:\.(\d{1,1000}))?(?:e([+-]?\d{1,3}))?$/i.exec(text) ?? [];
  if (integer === "") return null;
  const shift = Number(exponent) - decimals.length;
  const value = BigInt(`${integer}${decimals}`);
  return shift < 0
    ? { numerator: value, denominator: 10n ** BigInt(-shift) }
    : whole(value * 10n ** BigInt(shift));
}

/** `2\frac{1}{2}` is a sum. */
function isMixed([first, second]: readonly MathJson[]): boolean {
  return typeof first === "number" && Array.isArray(second) && second[0] === "Divide";
}

function sum(a: Fraction, b: Fraction): Fraction {
  if (a.denominator === b.denominator)
    return { numerator: a.numerator + b.numerator, denominator: a.denominator };
  const numerator = a.numerator * b.denominator + b.numerator * a.denominator;
  return { numerator, denominator: a.denominator * b.denominator };
}

export function product(a: Fraction, b: Fraction): Fraction {
  return { numerator: a.numerator * b.numerator, denominator: a.denominator * b.denominator };
}

function quotient(a: Fraction, b: Fraction): Fraction | null {
  const factor = inverse(b);
  return factor === null ? null : product(a, factor);
}

function negated({ numerator, denominator }: Fraction): Fraction {
  return { numerator: -numerator, denominator };
}

function inverse({ numerator, denominator }: Fraction): Fraction | null {
  if (numerator === 0n) return null;
  return numerator < 0n
    ? { numerator: -denominator, denominator: -numerator }
    : { numerator: denominator, denominator: numerator };
}

function power(base: Fraction, exponent: Fraction): Fraction | null {
  const { numerator, denominator } = exponent;
  if (numerator % denominator !== 0n) return null;
  const times = numerator / denominator;
  const from = times < 0n ? inverse(base) : base;
  const count = times < 0n ? -times : times;
  if (from === null || (base.numerator === 0n && count === 0n)) return null;
  const bits = BigInt(Math.max(bitsOf(from.numerator), bitsOf(from.denominator)));
  if (bits * count > BigInt(mostBits)) return null;
  return { numerator: from.numerator ** count, denominator: from.denominator ** count };
}

function factorial({ numerator, denominator }: Fraction): Fraction | null {
  if (denominator !== 1n || numerator < 0n || numerator > BigInt(largestFactorial)) return null;
  let value = 1n;
  for (let factor = 2n; factor <= numerator; factor++) value *= factor;
  return whole(value);
}

function floor({ numerator, denominator }: Fraction): Fraction {
  const isBelow = numerator < 0n && numerator % denominator !== 0n;
  return whole(numerator / denominator - (isBelow ? 1n : 0n));
}

/** From zero to below the divisor. */
function remainder(value: Fraction, divisor: Fraction): Fraction | null {
  const times = quotient(value, divisor);
  return times === null || divisor.numerator < 0n
    ? null
    : sum(value, negated(product(floor(times), divisor)));
}

function isLong(value: bigint): boolean {
  return bitsOf(value) > mostBits;
}

/** To within four. */
function bitsOf(value: bigint): number {
  return 4 * value.toString(16).length;
}
