/** The data that a recipe's tasks come from. */
import { showCount, showText } from "../../format.ts";
import type { DataOrigin } from "../../runs/input-records.ts";

/** A line for each split of the environment. */
export function originLines(data: Readonly<Record<string, DataOrigin>>): string[] {
  return Object.entries(data).map(([split, origin]) => `data ${split}: ${showOrigin(origin)}`);
}

/** `openai/openai_humaneval at 7dce6050a7d6, test[:32]: 32 problems, content hash 0f3a…` */
export function showOrigin(origin: DataOrigin): string {
  const { dataset, commit, slices, problems, malformed, failing, digest } = origin;
  const at = commit === null ? "" : ` at ${commit.slice(0, 12)}`;
  const from = showText(`${dataset}${at}, ${slices}`, 200);
  const skipped =
    malformed + failing === 0 ? "" : ` (${malformed} malformed and ${failing} failing ones skipped)`;
  return `${from}: ${showCount(problems)} problems${skipped}, content hash ${digest.slice(0, 12)}`;
}
