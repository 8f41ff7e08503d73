/** How well an answer matches a reference: exact match and F1 of SQuAD (arXiv 1606.05250, sec. 6.1), as in Search-R1. */

/** Lower case, without punctuation, English articles and repeated white space. */
export function normalised(answer: string): string {
  return answer
    .toLowerCase()
    .replaceAll(/\p{P}/gu, "")
    .replaceAll(/\b(?:a|an|the)\b/g, " ")
    .split(/\s+/)
    .filter((word) => word !== "")
    .join(" ");
}

export interface Match {
  readonly exact: boolean;
  /** In [0, 1]. */
  readonly f1: number;
}

/** With the reference that it matches best. */
export function matchOf(answer: string, references: readonly string[]): Match {
  const given = normalised(answer);
  const known = references.map(normalised);
  return {
    exact: known.includes(given),
    f1: Math.max(0, ...known.map((reference) => f1(given.split(" "), reference.split(" ")))),
  };
}

/** The harmonic mean of precision and recall over the words, with their multiplicity. */
function f1(given: readonly string[], reference: readonly string[]): number {
  const left = [...reference];
  const common = given.filter((word) => {
    const index = word === "" ? -1 : left.indexOf(word);
    if (index >= 0) left.splice(index, 1);
    return index >= 0;
  }).length;
  return (2 * common) / (given.length + reference.length);
}
