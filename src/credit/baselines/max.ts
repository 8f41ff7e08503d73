/** b = the group's largest return: the best gets 0, every other one is made less likely (MAReMax in CoMLRL). */
export function maxBaseline(returns: readonly number[]): readonly number[] {
  const largest = returns.reduce((most, value) => Math.max(most, value), -Infinity);
  return returns.map(() => largest);
}
