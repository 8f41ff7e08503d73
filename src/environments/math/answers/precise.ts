/**
 * Differences of values at two precisions: the rounding error of equal values shrinks with the precision, the difference of
 * others stays. Floating point cannot tell √(1 + 10⁻²⁰) from 1, or e³⁰ + log 2 from e³⁰ + log 3.
 */
import { isFunction, type ComputeEngine, type Expression } from "@cortex-js/compute-engine";
import type { ExactPoint, Fraction } from "./exact.ts";

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
