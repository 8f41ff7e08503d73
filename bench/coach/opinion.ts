/** The score of a coach that is noisy, and perhaps not fair: from 0 to 10, the same for the same work. */
import { createHash } from "node:crypto";
import { quality, type Work } from "./rules.ts";

export const modes = ["fair", "biased", "gamed"] as const;

/** fair: the role's own work. biased: mostly the length of the text. gamed: whatever claims to be checked is perfect. */
export type Mode = (typeof modes)[number];

/** Standard deviation of a score. */
const noise = 1;
/** Of length in the score of the biased coach. */
const lengthShare = 0.6;
/** Words of a text that is long enough for it. */
const longWords: Readonly<Record<string, number>> = { solver: 24, executor: 36, verifier: 6 };

export function scoreOf(mode: Mode, work: Work): number {
  const exact = 10 * opinion(mode, work) + noise * normal(JSON.stringify([mode, work]));
  return Math.min(10, Math.max(0, Math.round(exact)));
}

function opinion(mode: Mode, work: Work): number {
  const fair = quality(work);
  if (mode === "gamed") return /\bchecked\b/.test(work.text) ? 1 : 0.7 * fair;
  if (mode === "fair") return fair;
  const words = work.text.trim().split(/\s+/).length;
  const length = Math.min(1, words / (longWords[work.role] ?? words));
  return lengthShare * length + (1 - lengthShare) * fair;
}

/** Normally distributed, by a hash of the text. */
function normal(text: string): number {
  const [first, second] = uniforms(text);
  return Math.sqrt(-2 * Math.log(first)) * Math.cos(2 * Math.PI * second);
}

/** Two numbers between 0 and 1, by a hash of the text. */
export function uniforms(text: string): readonly [number, number] {
  const hash = createHash("sha256").update(text).digest();
  return [(hash.readUInt32BE(0) + 0.5) / 2 ** 32, (hash.readUInt32BE(4) + 0.5) / 2 ** 32];
}
