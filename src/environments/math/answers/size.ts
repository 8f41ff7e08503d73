/** Expressions whose values are too large to compute: they are equal only if they are written alike. */

/** MathJSON: a number, a symbol, or a function and its arguments. */
export type MathJson = unknown;

const largestExponent = 5000;
const largestFactorial = 1000;
/** What a variable may stand for. */
const variable = 100;
/** Greek and Latin letters that stand for a number. */
const constants: Readonly<Record<string, number>> = { Pi: 4, e: 3, i: 1 };
const sums = new Set(["Sum", "Product", "Loop", "Range", "Integrate", "Limit"]);

export function isTooLarge(tree: MathJson): boolean {
  return !Number.isFinite(magnitude(tree));
}

/** An upper bound of the absolute value; infinite if something in it is too large. */
function magnitude(tree: MathJson): number {
  if (typeof tree === "number") return Math.abs(tree);
  if (typeof tree === "string") return Object.hasOwn(constants, tree) ? (constants[tree] ?? 1) : variable;
  if (!Array.isArray(tree)) return literal(tree);
  const [head, ...parts] = tree as readonly MathJson[];
  if (sums.has(String(head))) return Infinity;
  const sizes = parts.map(magnitude);
  if (sizes.some((size) => !Number.isFinite(size))) return Infinity;
  const [over = 0, under = 0] = sizes;
  // Of other divisors, which may be small, nothing is known.
  if ((head === "Divide" || head === "Rational") && typeof parts[1] === "number" && under >= 1)
    return Math.max(1, over / under);
  return combined(String(head), sizes);
}

/** `{ num: "123" }`: a number with more digits. */
function literal(tree: MathJson): number {
  const text = typeof tree === "object" && tree !== null && "num" in tree ? String(tree.num) : "";
  return text.length > 1000 ? Infinity : Math.min(Math.abs(Number(text)) || variable, Number.MAX_VALUE);
}

function combined(head: string, sizes: readonly number[]): number {
  const [first = 0, second = 0] = sizes;
  if (head === "Power") {
    if (second > largestExponent) return Infinity;
    return bounded(Math.max(first, 2) ** second);
  }
  if (head.startsWith("Factorial") || head === "Gamma" || head === "Binomial" || head === "Choose")
    return first > largestFactorial ? Infinity : bounded(Math.max(first, 2) ** Math.min(first, 100));
  if (head === "Add") return bounded(sizes.reduce((sum, size) => sum + size, 0));
  if (head === "Multiply" || head === "InvisibleOperator")
    return bounded(sizes.reduce((product, size) => product * Math.max(size, 1), 1));
  return bounded(Math.max(1, ...sizes));
}

function bounded(value: number): number {
  return Math.min(value, Number.MAX_VALUE);
}
