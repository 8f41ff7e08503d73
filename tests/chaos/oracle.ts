/**
 * What a disturbed command may do: end with the results of the undisturbed one, or with a failure that its records count
 * and its screen names. Anything else is a number that changed in silence.
 */

export interface Observation {
  readonly code: number | null;
  /** In order: what people read as results. */
  readonly results: readonly Result[];
  readonly screen: string;
}

export interface Result {
  /** `step 3`: the same in every run. */
  readonly key: string;
  readonly text: string;
  /** Failures that the records count up to here. */
  readonly failures: number;
}

export type Verdict =
  | { readonly kind: "same" | "counted" | "stopped" }
  | { readonly kind: "silent"; readonly because: string };

/** `same`: nothing may differ. `answer`: what is said may differ, and nothing may fail. */
export type Tolerance = "counted" | "same" | "answer";

/** @param named what the screen must say if a result differs or is missing */
export function verdictOn(
  expected: Observation,
  found: Observation,
  named: RegExp,
  tolerance: Tolerance = "counted",
): Verdict {
  const hasFailed = found.code !== expected.code || found.results.some(({ failures }) => failures > 0);
  if (tolerance === "answer")
    return hasFailed || found.results.length < expected.results.length
      ? silent(`an answer is taken for a failure; ${endOf(found)}`)
      : { kind: "same" };
  const verdict = countedOf(expected, found, named);
  const isSilent = tolerance === "same" && verdict.kind !== "same" && verdict.kind !== "silent";
  return isSilent ? silent(`an answer is taken for a failure; ${endOf(found)}`) : verdict;
}

function countedOf(expected: Observation, found: Observation, named: RegExp): Verdict {
  const known = new Map(expected.results.map(({ key, text }) => [key, text]));
  const different = found.results.filter(({ key, text }) => known.get(key) !== text);
  const uncounted = different.find(({ failures }) => failures === 0);
  if (uncounted !== undefined)
    return silent(
      `${uncounted.key} differs without a counted failure: ${shown(uncounted.text)} instead of ${shown(known.get(uncounted.key))}`,
    );
  const isWhole = found.results.length === expected.results.length;
  if (different.length === 0 && isWhole)
    return found.code === expected.code
      ? { kind: "same" }
      : silent(`the results are the same, but ${endOf(found)}`);
  if (!named.test(found.screen))
    return silent(`results differ or are missing, and the screen does not say why; ${endOf(found)}`);
  if (isWhole) return { kind: "counted" };
  return found.code === 0 ? silent(`results are missing, but ${endOf(found)}`) : { kind: "stopped" };
}

function silent(because: string): Verdict {
  return { kind: "silent", because };
}

function shown(text = "nothing"): string {
  return text.length > 300 ? `${text.slice(0, 300)}…` : text;
}

function endOf({ code, screen }: Observation): string {
  return `the command ended with ${code}: ${JSON.stringify(screen.trim().slice(-300))}`;
}
