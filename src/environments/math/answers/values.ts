/** Values of expressions at drawn points: where they are compared, to how many digits, and which of them may be rounded. */
import { isFunction, type ComputeEngine, type Expression } from "@cortex-js/compute-engine";
import { drawInt, generatorOf, keyAt, rootKey, type Key } from "../../../random.ts";
import type { ExactPoint, Fraction } from "./exact.ts";

/** Of real variables: different magnitudes, one negative. */
const ranges = [
  [1, 2],
  [2, 3],
  [-5, -4],
  [0, 1],
  [6, 8],
] as const;
/** Of whole numbers: some are beyond a divisor such as 100. */
const wholeRanges = [...Array.from({ length: 14 }, () => [4, 26] as const), [101, 150], [151, 199]] as const;
const wholeNumbers = /!|\\binom|\\gcd|\(-1\)\s*\^/;
const roundingBracket = /\\lfloor|\\lceil/;

/** The same for (one, other) and (other, one). Without variables, one point. */
export function pointsFor(variables: readonly string[], one: string, other: string): readonly ExactPoint[] {
  if (variables.length === 0) return [{}];
  const key = keyOf(one, other);
  const wholes = wholeRanges.map((_, point) =>
    pointAt(variables, (name) => wholeAt(keyAt(key, name, point), point)),
  );
  const reals = realPoints(variables, one, other);
  const latex = one + other;
  if (wholeNumbers.test(latex)) return wholes;
  if (!roundingBracket.test(latex)) return reals;
  // Floors of x are those of a real number, floors of n those of a whole one.
  return variables.some((name) => /^[t-z]$/.test(name)) ? [...wholes, ...reals] : wholes;
}

function keyOf(one: string, other: string): Key {
  return keyAt(rootKey(0), ...[one, other].toSorted());
}

export function realPoints(variables: readonly string[], one: string, other: string): readonly ExactPoint[] {
  const key = keyOf(one, other);
  return ranges.map((_, point) =>
    pointAt(variables, (name, index) => {
      const range = ranges[(point + 3 * index) % ranges.length] ?? ranges[0];
      return realAt(keyAt(key, name, -1 - point), range);
    }),
  );
}

function pointAt(
  variables: readonly string[],
  valueAt: (name: string, index: number) => Fraction,
): ExactPoint {
  return Object.fromEntries(variables.map((name, index) => [name, valueAt(name, index)]));
}

function wholeAt(key: Key, point: number): Fraction {
  const [low, high] = wholeRanges[point] ?? wholeRanges[0];
  return { numerator: BigInt(low + drawInt(generatorOf(key), high - low + 1)), denominator: 1n };
}

/** Strictly inside the range, and no whole number. */
function realAt(key: Key, [low, high]: readonly [number, number]): Fraction {
  const generator = generatorOf(key);
  const denominator = 2 * (50 + drawInt(generator, 350)) + 1;
  const numerator = low * denominator + 1 + drawInt(generator, denominator - 1);
  const steps = drawInt(generator, high - low);
  return { numerator: BigInt(numerator + steps * denominator), denominator: BigInt(denominator) };
}

/** Significant digits: of a comparison, of its confirmation, and of that of a difference that only the second shows. */
const [usual, high, higher] = [60, 500, 700];
/** Orders of magnitude by which rounding errors shrink at least. */
const shrinking = 20;
/** Of a number in floating point; others have as many digits as the precision, or few. */
const machineDigits = { least: 15, most: 20 };

/** The precision is the same for all engines of a process: it is set before every comparison. */
export function setUsualPrecision(engine: ComputeEngine): void {
  engine.precision = usual;
}

/** Whether LaTeX expressions that are about equal at the point are equal. Sets another precision. */
export function isConfirmed(
  engine: ComputeEngine,
  pair: readonly [string, string],
  point: ExactPoint,
): boolean {
  const differenceAt = (digits: number): Expression => {
    engine.precision = digits;
    const [a, b] = pair.map((latex) => engine.parse(latex).subs(expressionsAt(engine, point)).N());
    return (a as Expression).sub(b as Expression).N();
  };
  const first = magnitudeOf(differenceAt(usual));
  const second = magnitudeOf(differenceAt(high));
  if (second <= first - shrinking || second === -Infinity) return true;
  if (first === -Infinity && magnitudeOf(differenceAt(higher)) <= second - shrinking) return true;
  setUsualPrecision(engine);
  return pair.some((latex) => isInFloatingPoint(engine.parse(latex).subs(expressionsAt(engine, point))));
}

/** Whose values have few digits because they are exact. */
const arithmetic = new Set(
  "Add Subtract Negate Multiply Divide Rational Power Sqrt Floor Ceil Abs Mod GCD LCM".split(" "),
);

/** The engine computes some functions of complex numbers in floating point at any precision. */
function isInFloatingPoint(expression: Expression): boolean {
  if (!isFunction(expression)) return false;
  const isExact = arithmetic.has(expression.operator);
  return (!isExact && hasMachineDigits(expression.N())) || expression.ops.some(isInFloatingPoint);
}

function hasMachineDigits(value: Expression): boolean {
  const parts = [value.bignumRe ?? value.re, value.bignumIm ?? value.im];
  const lengths = parts.map((part) => significant(String(part)).length);
  return lengths.some((length) => length >= machineDigits.least && length <= machineDigits.most);
}

function significant(decimal: string): string {
  return decimal
    .replace(/e.*$/i, "")
    .replace(/^-?[0.]*/, "")
    .replace(".", "");
}

/** The decimal logarithm of the absolute value: −∞ for zero; NaN: it has no value. */
export function magnitudeOf(value: Expression): number {
  const parts = [value.bignumRe ?? value.re, value.bignumIm ?? value.im];
  return Math.max(...parts.map((part) => logarithmOf(String(part))));
}

/** Of decimals beyond the range of floating point, too. */
function logarithmOf(text: string): number {
  if (/infinity/i.test(text)) return Infinity;
  const [, integer, decimals = "", exponent = "0"] =
    /^-?(\d+)(?:\.(\d+))?(?:e([+-]?\d+))?$/i.exec(text) ?? [];
  if (integer === undefined) return Number.NaN;
  const digits = `${integer}${decimals}`;
  const leading = /^0*/.exec(digits)?.[0].length ?? 0;
  if (leading === digits.length) return -Infinity;
  return (
    Math.log10(Number(`0.${digits.slice(leading, leading + 17)}`)) +
    integer.length -
    leading +
    Number(exponent)
  );
}

export function expressionsAt(
  engine: ComputeEngine,
  point: ExactPoint,
): Readonly<Record<string, Expression>> {
  const entries = Object.entries(point);
  return Object.fromEntries(entries.map(([name, value]) => [name, engine.parse(latexFraction(value))]));
}

function latexFraction({ numerator, denominator }: Fraction): string {
  return denominator === 1n ? String(numerator) : `\\frac{${numerator}}{${denominator}}`;
}

/** Half a unit in the last place of a plain decimal; −∞: a decimal is part of an expression. Null: there is none. */
export function roundingOf(one: string, other: string): number | null {
  if (!isDecimal(one) && !isDecimal(other)) return null;
  return Math.max(halfUnitOf(one), halfUnitOf(other));
}

function isDecimal(latex: string): boolean {
  return /\.\d/.test(latex);
}

const plain = /^[+-]?[\d,]*\.(\d+)(?:(?:e|(?:\\times|\\cdot|\*)10\^)\{?([+-]?\d+)\}?)?$/i;

function halfUnitOf(latex: string): number {
  const [, decimals, exponent = "0"] = plain.exec(latex.replaceAll(" ", "")) ?? [];
  return decimals === undefined ? -Infinity : Math.log10(0.5) - decimals.length + Number(exponent);
}

/** At most a millionth, and at most a hundred-thousandth of the larger value; of long values, half a unit. */
const [absolute, relative] = [-6, -5];
const relativeOfLong = -12;
/** Of values that are computed with sixty digits. */
const [equal, zero] = [-30, -50];
/** Of the logarithms. */
const slack = 1e-9;

/** @param rounding as of `roundingOf` */
export function isRounded(distance: number, larger: number, rounding: number): boolean {
  const isWithin = (...limits: readonly number[]) => distance <= Math.min(...limits) + slack;
  return (
    isWithin(absolute, larger + relative) ||
    isWithin(rounding, larger + relativeOfLong) ||
    isWithin(larger + equal) ||
    isWithin(zero)
  );
}

export function isRoundedFraction(a: Fraction, b: Fraction, rounding: number): boolean {
  const distance = a.numerator * b.denominator - b.numerator * a.denominator;
  const under = wholeLogarithmOf(a.denominator) + wholeLogarithmOf(b.denominator);
  const larger = Math.max(
    ...[a, b].map((each) => wholeLogarithmOf(each.numerator) - wholeLogarithmOf(each.denominator)),
  );
  return distance === 0n || isRounded(wholeLogarithmOf(distance) - under, larger, rounding);
}

/** Of the absolute value; −∞ for zero. */
function wholeLogarithmOf(value: bigint): number {
  const digits = String(value).replace("-", "");
  return value === 0n ? -Infinity : Math.log10(Number(`0.${digits.slice(0, 17)}`)) + digits.length;
}
