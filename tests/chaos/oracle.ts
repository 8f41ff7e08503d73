/**
 * What a disturbed command may do: end with the numbers of the undisturbed one, or with a failure that its records count
 * and its screen names. Anything else is a number that changed in silence.
 */

export interface Observation {
  readonly code: number | null;
  /** In order: what people read as results. */
  readonly numbers: readonly ResultLine[];
  readonly screen: string;
}

export interface ResultLine {
  readonly text: string;
  /** Failures that this line itself counts. */
  readonly failures: number;
}

export type Verdict =
  | { readonly kind: "same" | "counted" | "stopped" }
  | { readonly kind: "silent"; readonly because: string };

/** @param named what the screen must say if a number differs */
export function verdictOn(expected: Observation, found: Observation, named: RegExp): Verdict {
  const silent = (because: string): Verdict => ({ kind: "silent", because });
  const differs = expected.numbers.findIndex(({ text }, index) => found.numbers[index]?.text !== text);
  const isLonger = found.numbers.length > expected.numbers.length;
  if (differs === -1 && !isLonger) {
    if (found.code === expected.code) return { kind: "same" };
    return silent(`the same numbers, but the command ended with ${found.code}: ${tailOf(found.screen)}`);
  }
  if (!named.test(found.screen))
    return silent(`numbers differ, and the screen does not name the cause: ${tailOf(found.screen)}`);
  const line = found.numbers[differs];
  if (line === undefined && !isLonger) {
    if (found.code !== 0 && found.code !== null) return { kind: "stopped" };
    return silent(`results are missing, but the command ended with ${found.code}`);
  }
  if (line === undefined || line.failures === 0)
    return silent(
      `a result differs without a counted failure: ${shown(line?.text)} instead of ${shown(expected.numbers[differs]?.text)}`,
    );
  return { kind: "counted" };
}

/** Every line by itself: lines do not depend on each other. */
export function verdictOnLines(expected: Observation, found: Observation, named: RegExp): Verdict {
  const each = expected.numbers.map((line, index) => {
    const other = found.numbers[index];
    const one = (numbers: readonly ResultLine[]): Observation => ({ ...found, code: found.code, numbers });
    if (other?.text === line.text) return { kind: "same" } as const;
    return verdictOn({ ...expected, numbers: [line] }, one(other === undefined ? [] : [other]), named);
  });
  const worst = each.find(({ kind }) => kind === "silent") ?? each.find(({ kind }) => kind !== "same");
  if (worst === undefined && found.code !== expected.code)
    return { kind: "silent", because: `the same numbers, but the command ended with ${found.code}` };
  if (worst?.kind === "counted" && found.code === 0)
    return { kind: "silent", because: "lines failed, but the command ended with 0" };
  return worst ?? { kind: "same" };
}

function shown(text = "nothing"): string {
  return text.length > 300 ? `${text.slice(0, 300)}…` : text;
}

function tailOf(screen: string): string {
  return JSON.stringify(screen.trim().slice(-300));
}
