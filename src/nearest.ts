/** The valid name nearest to a wrong one, for "did you mean". */

/**
 * The candidate with the smallest edit distance, if it is close enough: at most a third of the longer name's letters
 * (at least 2) differ. Case and the separators `-`, `_` and `.` are ignored.
 */
export function nearestName(name: string, candidates: readonly string[]): string | undefined {
  let best: string | undefined;
  let bestDistance = Infinity;
  for (const candidate of candidates) {
    const distance = editDistance(normal(name), normal(candidate));
    const allowed = Math.max(2, Math.floor(Math.max(name.length, candidate.length) / 3));
    if (distance < bestDistance && distance <= allowed && distance < candidate.length) {
      best = candidate;
      bestDistance = distance;
    }
  }
  return best;
}

/** "did you mean `steps`?", or undefined if nothing is near. */
export function didYouMean(name: string, candidates: readonly string[]): string | undefined {
  const nearest = nearestName(name, candidates);
  return nearest === undefined ? undefined : `did you mean \`${nearest}\`?`;
}

/** What is wrong with a key that has no meaning. */
export function unknownKey(key: string, known: readonly string[]): string {
  return `unknown key \`${key}\` (${didYouMean(key, known) ?? `known: ${known.join(", ")}`})`;
}

/**
 * Insertions, deletions, substitutions and swaps of neighbours that turn `a` into `b` (optimal string alignment). Only
 * the first 64 characters count: names are short, but input may not be.
 */
export function editDistance(a: string, b: string): number {
  const from = a.slice(0, 64);
  const to = b.slice(0, 64);
  let beforeLast: number[] = [];
  let last = Array.from({ length: to.length + 1 }, (_, column) => column);
  for (let row = 1; row <= from.length; row++) {
    const current = [row];
    for (let column = 1; column <= to.length; column++) {
      const same = from[row - 1] === to[column - 1];
      const choices = [
        (last[column] ?? 0) + 1,
        (current[column - 1] ?? 0) + 1,
        (last[column - 1] ?? 0) + (same ? 0 : 1),
      ];
      const swapped = from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1];
      if (swapped) choices.push((beforeLast[column - 2] ?? 0) + 1);
      current.push(Math.min(...choices));
    }
    [beforeLast, last] = [last, current];
  }
  return last.at(-1) ?? 0;
}

function normal(name: string): string {
  return name.toLowerCase().replaceAll(/[-_.]/g, "");
}
