/**
 * Equality of expressions with the Compute Engine: the same canonical form, the same exact value, or the same values at
 * sample points. Expressions are parsed as LaTeX and nothing else; no code is evaluated.
 */
import { ComputeEngine, type Expression } from "@cortex-js/compute-engine";
import type { Algebra, Equation } from "./compare.ts";
import { openConfirmation, type Confirm, type LatexPoint } from "./precise.ts";
import { tolerance } from "./rational.ts";
import { type ExactPoint, exactValue, type Fraction, sameFraction } from "./exact.ts";
import { isTooLarge, type MathJson } from "./size.ts";

/** Values of variables: different magnitudes, one negative. */
const reals = [fraction(13, 10), fraction(29, 17), fraction(-31, 7), fraction(5, 11), fraction(23, 3)];
/** For floors, factorials and signs, whose variables are whole numbers and which are constant over a range. */
const integers = [9, 4, 15, 6, 22, 11, 5, 26, 7, 16, 10, 13, 17, 8, 12, 25].map((value) =>
  fraction(value, 1),
);
const wholeNumbers = /!|\\binom|\\gcd|\(-1\)\s*\^/;
const rounding = /\\lfloor|\\lceil/;
/** Of two values computed in floating point. */
const relativeError = 1e-12;

export function openAlgebra(): Algebra {
  const engine = new ComputeEngine();
  const confirm = openConfirmation();
  return {
    same: (one, other) => sameLatex(engine, confirm, one, other),
    sameEquation: (one, other) => sameEquation(engine, one, other),
  };
}

function fraction(numerator: number, denominator: number): Fraction {
  return { numerator: BigInt(numerator), denominator: BigInt(denominator) };
}

function sameLatex(engine: ComputeEngine, confirm: Confirm, one: string, other: string): boolean {
  const isRounded = isDecimal(one) || isDecimal(other);
  const trees: Pair | null = isRounded ? null : [rawOf(engine, one).json, rawOf(engine, other).json];
  const constants = trees && compareExactly(trees, {});
  if (constants !== null) return constants !== "different";
  const [a, b] = [parsed(engine, one), parsed(engine, other)];
  if (a === null || b === null) return false;
  if (a.isSame(b)) return true;
  const variables = variablesOf(a, b);
  const points = valuesFor(variables, one + other).flatMap((values) => substitutions(variables, values));
  let toConfirm: ExactPoint | null = null;
  const compared = points.map((point) => {
    const exact = trees && compareExactly(trees, point);
    if (exact !== null) return exact;
    const at = expressionsAt(engine, point);
    const result = compareConstants(a.subs(at), b.subs(at), isRounded);
    if (result === "same") toConfirm ??= point;
    return result;
  });
  if (compared.includes("different")) return false;
  if (toConfirm !== null && !isRounded) {
    const magnitude = Math.hypot(...valueOf(a.subs(expressionsAt(engine, toConfirm))));
    return confirm(readable(one), readable(other), magnitude, latexOf(toConfirm));
  }
  // Points where both are undefined, as in (d - k)!, or zero prove little.
  return compared.includes("same") || compared.every((result) => result === "zero");
}

type Pair = readonly [MathJson, MathJson];

/** Null: a value is not exact. */
function compareExactly([one, other]: Pair, point: ExactPoint): Comparison | null {
  const [a, b] = [exactValue(one, point), exactValue(other, point)];
  if (a === null || b === null) return null;
  if (!sameFraction(a, b)) return "different";
  return a.numerator === 0n ? "zero" : "same";
}

/** Floors of x are those of a real number, floors of n those of a whole one. */
function valuesFor(variables: readonly string[], latex: string): readonly (readonly Fraction[])[] {
  if (wholeNumbers.test(latex)) return [integers];
  if (!rounding.test(latex)) return [reals];
  return variables.some((name) => /^[t-z]$/.test(name)) ? [integers, reals] : [integers];
}

/** Whether the differences of their sides have a constant ratio. */
function sameEquation(engine: ComputeEngine, one: Equation, other: Equation): boolean {
  const [a, b] = [one, other].map(({ left, right }) => parsed(engine, `(${left})-(${right})`));
  if (!a || !b) return false;
  const variables = variablesOf(a, b);
  if (variables.length === 0) return false;
  const ratios = substitutions(variables, reals).map((exact) => {
    const point = expressionsAt(engine, exact);
    const [[over, i], [under, j]] = [valueOf(a.subs(point)), valueOf(b.subs(point))];
    return i === 0 && j === 0 ? over / under : Number.NaN;
  });
  const [first = Number.NaN] = ratios;
  const isClose = (ratio: number) => Math.abs(ratio - first) <= relativeError * 1e3 * Math.abs(first);
  return Number.isFinite(first) && first !== 0 && ratios.every(isClose);
}

/** Null: not an expression, or its value is too large. */
function parsed(engine: ComputeEngine, latex: string): Expression | null {
  const raw = rawOf(engine, latex);
  if (isTooLarge(raw.json)) return null;
  const { canonical } = raw;
  return canonical.isValid ? canonical : null;
}

function rawOf(engine: ComputeEngine, latex: string): Expression {
  return engine.parse(readable(latex), { form: "raw" });
}

/** A letter before a bracket is a factor, as answers define no functions. */
function readable(latex: string): string {
  return latex.replace(/(?<![\\a-zA-Z])([a-zA-Z])\s*(?=\()/g, "$1\\cdot ");
}

function isDecimal(latex: string): boolean {
  return /\.\d/.test(latex);
}

/** Without variables, one point. */
function substitutions(variables: readonly string[], values: readonly Fraction[]): readonly ExactPoint[] {
  if (variables.length === 0) return [{}];
  return values.map((_, point) => {
    const valueAt = (index: number) => values[(point + 3 * index) % values.length] ?? fraction(1, 1);
    return Object.fromEntries(variables.map((variable, index) => [variable, valueAt(index)]));
  });
}

function expressionsAt(engine: ComputeEngine, point: ExactPoint): Readonly<Record<string, Expression>> {
  const entries = Object.entries(latexOf(point));
  return Object.fromEntries(entries.map(([name, value]) => [name, engine.parse(value)]));
}

function latexOf(point: ExactPoint): LatexPoint {
  return Object.fromEntries(Object.entries(point).map(([name, value]) => [name, latexFraction(value)]));
}

function latexFraction({ numerator, denominator }: Fraction): string {
  return denominator === 1n ? String(numerator) : `\\frac{${numerator}}{${denominator}}`;
}

function variablesOf(...all: readonly Expression[]): readonly string[] {
  return [...new Set(all.flatMap(({ unknowns }) => unknowns))].toSorted();
}

type Comparison = "same" | "different" | "zero" | "undefined";

function compareConstants(a: Expression, b: Expression, isRounded: boolean): Comparison {
  const [left, right] = [a.evaluate(), b.evaluate()];
  if (isExact(left) && isExact(right) && !isRounded && !left.isSame(right)) return "different";
  return compareValues(valueOf(left), valueOf(right), isRounded);
}

/** An integer or a fraction, not computed in floating point. */
function isExact({ json }: Expression): boolean {
  return Number.isInteger(json) || (Array.isArray(json) && json[0] === "Rational");
}

type Complex = readonly [re: number, im: number];

function valueOf(expression: Expression): Complex {
  const { re, im } = expression.N();
  return [re, im];
}

/** The tolerance counts only if one of them is written with a decimal point. */
function compareValues(a: Complex, b: Complex, isRounded: boolean): Comparison {
  const [left, right] = [Math.hypot(...a), Math.hypot(...b)];
  const finite = [left, right].filter(Number.isFinite).length;
  if (finite < 2) return finite === 0 ? "undefined" : "different";
  const distance = Math.hypot(a[0] - b[0], a[1] - b[1]);
  const larger = Math.max(left, right);
  if (larger < Number.EPSILON) return "zero";
  if (distance <= relativeError * larger) return "same";
  const isNear = isRounded && distance <= tolerance.absolute && distance <= tolerance.relative * larger;
  return isNear ? "same" : "different";
}
