/** Values of expressions of which one is written with a decimal point, and may be rounded. In decimal logarithms. */
import type { Fraction } from "./exact.ts";

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
  const under = logarithmOf(a.denominator) + logarithmOf(b.denominator);
  const larger = Math.max(
    ...[a, b].map((each) => logarithmOf(each.numerator) - logarithmOf(each.denominator)),
  );
  return distance === 0n || isRounded(logarithmOf(distance) - under, larger, rounding);
}

/** Of the absolute value; −∞ for zero. */
function logarithmOf(value: bigint): number {
  const digits = String(value).replace("-", "");
  return value === 0n ? -Infinity : Math.log10(Number(`0.${digits.slice(0, 17)}`)) + digits.length;
}
