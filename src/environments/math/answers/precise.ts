/** Differences of large constants: floating point cannot tell e³⁰ + log 2 from e³⁰ + log 3, or 100! from 100! + 1. */
import { ComputeEngine, type Expression } from "@cortex-js/compute-engine";

/** Digits after the decimal point. */
const digits = 60;
/** Of the difference, which no rounding at that many digits reaches. */
const absoluteError = 1e-30;
/** Below, floating point leaves an error of a billionth at most. */
const large = 1000;

/** Confirms that two LaTeX expressions of this magnitude, which are equal in floating point at the point, are. */
export type Confirm = (one: string, other: string, magnitude: number, point?: LatexPoint) => boolean;

/** Values of variables, in LaTeX. */
export type LatexPoint = Readonly<Record<string, string>>;

export function openConfirmation(): Confirm {
  const engine = new ComputeEngine();
  return (one, other, magnitude, point = {}) => {
    if (magnitude < large) return true;
    engine.precision = digits + Math.ceil(Math.log10(magnitude));
    const values = Object.entries(point).map(([name, value]) => [name, engine.parse(value)]);
    const at = Object.fromEntries(values) as Record<string, Expression>;
    const { re, im } = engine.parse(`(${one})-(${other})`).subs(at).N();
    return Math.hypot(re, im) <= absoluteError;
  };
}
