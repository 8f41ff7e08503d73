/** b = 0 (REINFORCE). */
export function noBaseline(returns: readonly number[]): readonly number[] {
  return returns.map(() => 0);
}
