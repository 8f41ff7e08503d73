/** b = 0 (REINFORCE with its reinforcement baseline left out, Williams 1992, sec. 4; MAREINFORCE in CoMLRL v1.3.2). */
export function noBaseline(returns: readonly number[]): readonly number[] {
  return returns.map(() => 0);
}
