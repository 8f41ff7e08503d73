/** Returns that are equal: a comparison of them says nothing. */
import { areEqual } from "../statistics.ts";
import type { Algorithm } from "./algorithm.ts";

/** Tolerance: sums of the same rewards in another order count as equal. */
const rounding = 1e-9;

/** Whether returns differ by no more than rounding. */
export function isFlat(returns: readonly number[]): boolean {
  return areEqual(returns, rounding * Math.max(1, Math.abs(returns[0] ?? 0)));
}

/** Whether the scale enlarges differences as they get smaller. */
export function dividesBySpread({ scale }: Pick<Algorithm, "scale">): boolean {
  return scale([0, 1]) !== scale([0, 2]);
}
