/**
 * b = the group's largest return: the best gets 0, every other one is made less likely (MAReMax in CoMLRL v1.3.2; we know of
 * no paper that gives it). Not ReMax (arXiv 2310.10505), whose baseline is the reward of the greedy answer.
 */
export function maxBaseline(returns: readonly number[]): readonly number[] {
  const largest = returns.reduce((most, value) => Math.max(most, value), -Infinity);
  return returns.map(() => largest);
}
