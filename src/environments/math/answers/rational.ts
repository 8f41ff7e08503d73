/** Numbers that are written out, exactly: integers, decimals, fractions, mixed numbers, powers of ten, percentages. */
import { withoutSpaces } from "./normalise.ts";

export interface Rational {
  readonly numerator: bigint;
  /** Positive. */
  readonly denominator: bigint;
  /** Written with a decimal point, so that it may be rounded. */
  readonly isDecimal: boolean;
  readonly isPercent: boolean;
}

/** Longer numbers and larger powers of ten are left to comparison as text. */
const mostDigits = 400;

const digits = String.raw`(?:\d{1,3}(?:,\d{3})+|\d+)`;
const decimal = String.raw`(?:${digits}(?:\.\d*)?|\.\d+)`;
const fraction = String.raw`\\frac\{(-?${decimal})\}\{(-?${decimal})\}`;
const tenTo = String.raw`10\^(?:\{([+-]?\d+)\}|([+-]?\d+))`;
const powerOfTen = String.raw`(?:[eE]([+-]?\d+)|(?:\\times|\\cdot|\*)${tenTo})`;

type Parts = readonly (string | undefined)[];

interface Form {
  readonly pattern: RegExp;
  readonly value: (parts: Parts) => Exact | null;
}

interface Exact {
  readonly numerator: bigint;
  readonly denominator: bigint;
}

/** On text without spaces, except in mixed numbers. */
const forms: readonly Form[] = [
  { pattern: whole(`(${decimal})${powerOfTen}?`), value: ([a, b, c, d]) => scaled(a, b ?? c ?? d) },
  { pattern: whole(tenTo), value: ([a, b]) => scaled("1", a ?? b) },
  { pattern: whole(fraction), value: ([a, b]) => quotient(read(a), read(b)) },
  { pattern: whole(`(${decimal})/(${decimal})`), value: ([a, b]) => quotient(read(a), read(b)) },
  {
    pattern: whole(String.raw`(\d+)(?:\\frac\{(\d+)\}\{(\d+)\}| (\d+)/(\d+))`),
    value: ([a, b, c, d, e]) => mixed(read(a), quotient(read(b ?? d), read(c ?? e))),
  },
];

function whole(source: string): RegExp {
  return new RegExp(`^${source}$`);
}

/** Null: it is not such a number. */
export function readRational(text: string): Rational | null {
  if (text.length > mostDigits) return null;
  const isPercent = /\\?%$/.test(text);
  const bare = withoutSpaces(text.replace(/\\?%$/, ""));
  const [, sign = "", rest = ""] = /^([+-]*)([^]*)$/.exec(unwrapped(bare)) ?? [];
  for (const { pattern, value } of forms) {
    const parts = pattern.exec(rest)?.slice(1);
    const exact = parts === undefined ? null : value(parts);
    if (exact === null) continue;
    const isNegative = (sign.match(/-/g)?.length ?? 0) % 2 === 1;
    const numerator = isNegative ? -exact.numerator : exact.numerator;
    return { numerator, denominator: exact.denominator, isDecimal: rest.includes("."), isPercent };
  }
  return null;
}

function unwrapped(text: string): string {
  const inside = /^\{(.*)\}$|^\(([^()]*)\)$/.exec(text);
  const found = inside?.[1] ?? inside?.[2];
  // (1,200) is a pair.
  return found === undefined ||
    (text.startsWith("(") && found.includes(",")) ||
    /[{}]/.test(found.replace(/\{[^{}]*\}/g, ""))
    ? text
    : found;
}

function read(text: string | undefined): Exact | null {
  return scaled(text, undefined);
}

function scaled(text: string | undefined, exponent: string | undefined): Exact | null {
  if (text === undefined) return null;
  const power = Number(exponent ?? 0);
  if (Math.abs(power) > mostDigits) return null;
  const [integer = "", decimals = ""] = text.replaceAll(",", "").split(".");
  const isNegative = integer.startsWith("-");
  const value = BigInt(`${integer.replace("-", "")}${decimals}` || "0");
  const shift = power - decimals.length;
  return {
    numerator: (isNegative ? -value : value) * 10n ** BigInt(Math.max(0, shift)),
    denominator: 10n ** BigInt(Math.max(0, -shift)),
  };
}

function quotient(over: Exact | null, under: Exact | null): Exact | null {
  if (over === null || under === null || under.numerator === 0n) return null;
  const numerator = over.numerator * under.denominator;
  const denominator = over.denominator * under.numerator;
  return denominator < 0n ? { numerator: -numerator, denominator: -denominator } : { numerator, denominator };
}

/** 1 4/5 is 9/5; 11 3/2 is a product and not read here. */
function mixed(integer: Exact | null, part: Exact | null): Exact | null {
  if (integer === null || part === null || part.numerator >= part.denominator) return null;
  return { numerator: integer.numerator * part.denominator + part.numerator, denominator: part.denominator };
}

/**
 * Exact, except if one of them is a decimal: then at most a millionth, and at most a hundred-thousandth of the larger number.
 * A percentage equals its value with and without the sign: 50 %, 50, 0.5.
 */
export function sameRational(one: Rational, other: Rational): boolean {
  const scales = one.isPercent === other.isPercent ? [1n] : [1n, 100n];
  const [percent, plain] = other.isPercent ? [other, one] : [one, other];
  return scales.some((scale) => same(percent, plain, scale));
}

/** Whether `rounded` has two decimals or more, the last of which is that of the value rounded. */
export function isRoundingOf(rounded: Rational, value: Rational): boolean {
  if (!rounded.isDecimal || rounded.denominator < 100n || rounded.isPercent !== value.isPercent) return false;
  const difference = rounded.numerator * value.denominator - value.numerator * rounded.denominator;
  return 2n * magnitude(difference) <= value.denominator;
}

/** Whether a = b · scale. */
function same(a: Rational, b: Rational, scale: bigint): boolean {
  const left = a.numerator * b.denominator;
  const right = b.numerator * scale * a.denominator;
  if (left === right) return true;
  if (!a.isDecimal && !b.isDecimal) return false;
  const difference = left > right ? left - right : right - left;
  const common = a.denominator * b.denominator;
  const larger = magnitude(left) > magnitude(right) ? magnitude(left) : magnitude(right);
  return difference * 1_000_000n <= common && difference * 100_000n <= larger;
}

function magnitude(value: bigint): bigint {
  return value < 0n ? -value : value;
}

/** Their LaTeX, in order; null: it is no ratio. A part with a leading zero is that of a time, `3:05`. */
export function readRatio(text: string): readonly string[] | null {
  const parts = text.split(":").map((part) => part.trim());
  return parts.length > 1 && parts.every(isTerm) ? parts : null;
}

/** Numbers and roots; letters would name something. */
function isTerm(part: string): boolean {
  if (/^0(?:\d|$)/.test(part) || part.endsWith("%")) return false;
  return (
    readRational(part) !== null || /^(?:\\(?:frac|sqrt|pi|cdot)(?![a-zA-Z])|[\d{}()+\-/. ])+$/.test(part)
  );
}

/** `2:30` may be half past two, which is not `1:15`. */
export function isTime(parts: readonly string[]): boolean {
  const [hours = "", minutes = ""] = parts;
  return parts.length === 2 && /^(?:1\d|2[0-3]|\d)$/.test(hours) && /^[1-5]\d$/.test(minutes);
}

/** Each part divided by the last. */
export function quotientsOf(parts: readonly string[]): readonly string[] {
  return parts.slice(0, -1).map((part) => `\\frac{${part}}{${parts.at(-1) ?? ""}}`);
}
