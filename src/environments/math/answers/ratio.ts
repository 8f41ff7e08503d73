/** `3:4`: numbers whose quotients count. */
import { readRational } from "./rational.ts";

/** Their LaTeX, in order; null: it is no ratio. A part with a leading zero is that of a time, `3:05`. */
export function readRatio(text: string): readonly string[] | null {
  const parts = text.split(":").map((part) => part.trim());
  return parts.length > 1 && parts.every(isTerm) ? parts : null;
}

/** Numbers and roots; letters would name something. */
function isTerm(part: string): boolean {
  if (/^0(?:\d|$)/.test(part) || part.endsWith("%")) return false;
  return (
    readRational(part) !== null || /^(?:\\(?:frac|sqrt|pi|cdot)(?![a-zA-Z])|[\d{}()+\-/. ])+$/.test(part)
  );
}

/** `2:30` may be half past two, which is not `1:15`. */
export function isTime(parts: readonly string[]): boolean {
  const [hours = "", minutes = ""] = parts;
  return parts.length === 2 && /^(?:1\d|2[0-3]|\d)$/.test(hours) && /^[1-5]\d$/.test(minutes);
}

/** Each part divided by the last. */
export function quotientsOf(parts: readonly string[]): readonly string[] {
  return parts.slice(0, -1).map((part) => `\\frac{${part}}{${parts.at(-1) ?? ""}}`);
}
