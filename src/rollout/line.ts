/** The trajectory that an episode's team played, where others only say what its actions are worth (`SamplingScheme.continued`). */

/** Whether first joint actions alone lead to the node. */
export function isOnLine(node: string): boolean {
  return node === "" || /^0(?:\.0)*$/.test(node);
}

/** The ends of what the team played: of a branched episode, that of its first trajectory. */
export function playedEnds<End extends { readonly node: string }>(
  ends: readonly End[],
  isBranched: boolean | undefined,
): readonly End[] {
  return isBranched === true ? ends.filter(({ node }) => isOnLine(node)) : ends;
}
