/**
 * Equality of expressions with the Compute Engine: the same canonical form, the same exact value, or the same values at
 * sample points. Expressions are parsed as LaTeX and nothing else; no code is evaluated.
 */
import { ComputeEngine, type Expression } from "@cortex-js/compute-engine";
import type { Algebra, Equation } from "./compare.ts";
import { exactValue, product, sameFraction, type ExactPoint } from "./exact.ts";
import { isTooLarge, type MathJson } from "./size.ts";
import {
  pointsFor,
  realPoints,
  expressionsAt,
  isConfirmed,
  magnitudeOf,
  setUsualPrecision,
  isRounded,
  isRoundedFraction,
  roundingOf,
} from "./values.ts";

/** Orders of magnitude between values and a difference that is to be confirmed. */
const relativeError = -12;
/** Below this order of magnitude a value may be the rounding error of zero. */
const nearZero = -20;
/** Points at which an equality is confirmed. */
const mostConfirmed = 2;
/** Of ratios of the sides of equations. */
const relativeErrorOfRatios = { plain: -45, rounded: -9 };

export function openAlgebra(): Algebra {
  const engine = new ComputeEngine();
  return {
    same: (one, other) => {
      const [a, b] = [readable(one), readable(other)];
      const hasTerms = isTermPercent.test(a) || isTermPercent.test(b);
      return hasTerms ? sameLatex(engine, asFractions(a), asFractions(b)) : sameLatex(engine, a, b);
    },
    sameEquation: (one, other) => sameEquation(engine, one, other),
  };
}

function sameLatex(engine: ComputeEngine, one: string, other: string): boolean {
  setUsualPrecision(engine);
  const rounding = roundingOf(one, other);
  const trees: Trees = [treeOf(engine, one), treeOf(engine, other)];
  const constants = compareExactly(trees, {}, rounding);
  if (constants !== null) return constants !== "different";
  const [a, b] = [parsed(engine, one), parsed(engine, other)];
  if (a === null || b === null) return false;
  const variables = variablesOf(a, b);
  // A division by zero has no value, which nothing can equal.
  if ([a, b].some((each) => valueless.test(JSON.stringify(each.json)))) return false;
  if (a.isSame(b)) return true;
  if (variables.length > 0 && [a, b].some((each) => ofNoNumber.test(JSON.stringify(each.json)))) return false;
  const toConfirm: ExactPoint[] = [];
  const compared: Comparison[] = [];
  for (const point of pointsFor(variables, one, other)) {
    const at = expressionsAt(engine, point);
    const result =
      compareExactly(trees, point, rounding) ?? compareValues(a.subs(at).N(), b.subs(at).N(), rounding);
    if (result === "different") return false;
    if (result === "about") toConfirm.push(point);
    compared.push(result);
  }
  const confirm = (point: ExactPoint) => isConfirmed(engine, [one, other], point);
  if (!toConfirm.slice(0, mostConfirmed).every(confirm)) return false;
  // Points where both are undefined, as in (d - k)!, or zero prove little.
  const isProved = compared.includes("same") || compared.includes("about");
  return isProved || compared.every((result) => result === "zero");
}

/** What leaves a real number as it is: of a variable that may be another, such as the conjugate of z, nothing is known. */
const ofNoNumber = /"(?:Conjugate|Mean|Transpose|ConjugateTranspose)"/;
const valueless = /"(?:ComplexInfinity|NaN)"/;

type Trees = readonly [MathJson, MathJson];

/** `about`: equal at the usual precision. */
type Comparison = "same" | "about" | "different" | "zero" | "undefined";

/** Null: a value is not exact. */
function compareExactly(trees: Trees, point: ExactPoint, rounding: number | null): Comparison | null {
  const [a, b] = [exactValue(trees[0], point), exactValue(trees[1], point)];
  if (a === null || b === null) return null;
  const isSame = rounding === null ? sameFraction(a, b) : isRoundedFraction(a, b, rounding);
  if (!isSame) return "different";
  return a.numerator === 0n ? "zero" : "same";
}

function compareValues(a: Expression, b: Expression, rounding: number | null): Comparison {
  const [left, right] = [magnitudeOf(a), magnitudeOf(b)];
  const finite = [left, right].filter((each) => each < Infinity).length;
  if (finite < 2) return finite === 0 ? "undefined" : "different";
  const larger = Math.max(left, right);
  if (larger === -Infinity) return "zero";
  const distance = magnitudeOf(a.sub(b).N());
  if (rounding !== null) return isRounded(distance, larger, rounding) ? "same" : "different";
  return distance <= Math.max(larger + relativeError, nearZero) ? "about" : "different";
}

/** Whether the differences of their sides have a constant ratio. */
function sameEquation(engine: ComputeEngine, ...equations: readonly [Equation, Equation]): boolean {
  setUsualPrecision(engine);
  const [one, other] = equations.map(({ left, right }) => readable(`(${left})-(${right})`)) as [
    string,
    string,
  ];
  const [a, b] = [parsed(engine, one), parsed(engine, other)];
  if (a === null || b === null) return false;
  const variables = variablesOf(a, b);
  if (variables.length === 0) return false;
  const isPlain = roundingOf(one, other) === null;
  const points = realPoints(variables, one, other);
  const exact = isPlain ? haveExactRatio([treeOf(engine, one), treeOf(engine, other)], points) : null;
  if (exact !== null) return exact;
  const ratios = points.map((point) => {
    const at = expressionsAt(engine, point);
    return a.subs(at).N().div(b.subs(at).N()).N();
  });
  const [first] = ratios;
  const size = first === undefined ? Number.NaN : magnitudeOf(first);
  const error = size + relativeErrorOfRatios[isPlain ? "plain" : "rounded"];
  const isClose = (ratio: Expression) =>
    ratio === first || magnitudeOf(ratio.sub(first as Expression).N()) <= error;
  return Number.isFinite(size) && ratios.every(isClose);
}

/** Null: a value is not exact. */
function haveExactRatio([one, other]: Trees, points: readonly ExactPoint[]): boolean | null {
  const values = points.map((point) => [exactValue(one, point), exactValue(other, point)] as const);
  const known = values.flatMap(([a, b]) => (a === null || b === null ? [] : [[a, b] as const]));
  const [[over, under] = []] = known;
  if (known.length < values.length || over === undefined || under === undefined) return null;
  if (over.numerator === 0n || under.numerator === 0n) return false;
  return known.every(([a, b]) => sameFraction(product(a, under), product(b, over)));
}

/** Null: not an expression, or its value is too large. */
function parsed(engine: ComputeEngine, latex: string): Expression | null {
  const raw = engine.parse(latex, { form: "raw" });
  if (isTooLarge(raw.json)) return null;
  const { canonical } = raw;
  return canonical.isValid ? canonical : null;
}

function treeOf(engine: ComputeEngine, latex: string): MathJson {
  return engine.parse(latex, { form: "raw" }).json;
}

/** A letter before a bracket is a factor, as answers define no functions. `2\frac13\pi` has a mixed number. */
function readable(latex: string): string {
  return latex.replace(/(?<![\\a-zA-Z])([a-zA-Z])\s*(?=\()/g, "$1\\cdot ").replace(mixed, asFraction);
}

const mixed =
  /(?<![\d.^_)}\]a-zA-Z]\s*)(\d{1,18})(?:\s*\\frac\{(\d{1,18})\}\{(\d{1,18})\}| (\d{1,18})\/(\d{1,18})(?!\d))/g;

/** Of a whole number and a proper fraction. */
function asFraction(found: string, whole: string, ...parts: readonly (string | undefined)[]): string {
  const [over, under] = [BigInt(parts[0] ?? parts[2] ?? 0), BigInt(parts[1] ?? parts[3] ?? 0)];
  return over < under ? `(\\frac{${BigInt(whole) * under + over}}{${under}})` : found;
}

/** A percentage that is not all of the answer. LaTeX ignores what follows the sign. */
const isTermPercent = /%\s*\S/;

function asFractions(latex: string): string {
  return latex
    .replace(/(\d+(?:\.\d+)?|\.\d+)\s*%/g, "(\\frac{$1}{100})")
    .replace(/%(?=\s*\S)/g, "\\cdot\\frac{1}{100} ");
}

function variablesOf(...all: readonly Expression[]): readonly string[] {
  return [...new Set(all.flatMap(({ unknowns }) => unknowns))].toSorted();
}
