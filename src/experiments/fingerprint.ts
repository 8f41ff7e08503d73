/** A short name for what a cell computes: the same fingerprint, the same result. */
import { createHash } from "node:crypto";

/** Twelve hexadecimal digits; the order of a mapping's keys does not matter. */
export function fingerprint(value: unknown): string {
  return createHash("sha256")
    .update(JSON.stringify(sorted(value)))
    .digest("hex")
    .slice(0, 12);
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).toSorted(([left], [right]) => (left < right ? -1 : 1));
  return Object.fromEntries(entries.map(([key, inner]) => [key, sorted(inner)]));
}

/** Keys of a recipe that change no number: names, texts, how often it is saved, how many threads share the work. */
const silent = ["name", "description", "expected", "checkpoint", "seed", "engine"] as const;

/** @param recipe as it was written, all layers merged, without defaults: a key added later changes no fingerprint. */
export function recipeFingerprint(recipe: Readonly<Record<string, unknown>>, and: object): string {
  const kept = Object.fromEntries(
    Object.entries(recipe).filter(([key]) => !(silent as readonly string[]).includes(key)),
  );
  const engine = recipe["engine"] as { precision?: unknown } | undefined;
  return fingerprint({ recipe: kept, precision: engine?.precision ?? "auto", ...and });
}
