/** Columns of a report besides success: pass@k, shares of reward terms, tokens and time of an episode, what a judge says. */
import type { CellNumbers, MeasureRecord } from "./records.ts";

/** Null: the cell was not measured in this way, or has none of the terms. */
export function measureOf(numbers: CellNumbers, measure: MeasureRecord): number | null {
  const { terms, passAt, value, judge } = measure;
  if (terms !== undefined) return shareOf(numbers.terms ?? {}, terms);
  if (passAt !== undefined) return numbers.passAt?.[String(passAt)]?.mean ?? null;
  if (judge !== undefined) return numbers.judge?.[judge] ?? null;
  return (value === "tokens" ? numbers.perEpisode?.tokens : numbers.perEpisode?.seconds) ?? null;
}

/** The share earned of the largest possible sum of those terms in the cell. */
function shareOf(
  means: Readonly<Record<string, number>>,
  largest: Readonly<Record<string, number>>,
): number | null {
  const found = Object.entries(largest).filter(([name]) => Object.hasOwn(means, name));
  const most = found.reduce((sum, [, value]) => sum + value, 0);
  if (most === 0) return null;
  return found.reduce((sum, [name]) => sum + (means[name] ?? 0), 0) / most;
}
