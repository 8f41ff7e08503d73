/** Where expressions are compared: values of their variables, drawn for each pair, so that answers do not agree at them by chance. */
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
const rounding = /\\lfloor|\\lceil/;

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
  if (!rounding.test(latex)) return reals;
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
