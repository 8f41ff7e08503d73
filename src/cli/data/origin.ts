/** Which data a recipe's tasks are from. */
import { showCount, showText } from "../../format.ts";
import type { DataOrigin } from "../../runs/input-records.ts";

/** A line for each split of the environment. */
export function originLines(data: Readonly<Record<string, DataOrigin>>): string[] {
  return Object.entries(data).map(([split, origin]) => `data ${split}: ${showOrigin(origin)}`);
}

/** `openai/openai_humaneval at 7dce6050a7d6, test[:32]: 32 problems, content hash 0f3a…` */
export function showOrigin({ dataset, commit, slices, problems, digest }: DataOrigin): string {
  const at = commit === null ? "" : ` at ${commit.slice(0, 12)}`;
  const from = showText(`${dataset}${at}, ${slices}`, 200);
  return `${from}: ${showCount(problems)} problems, content hash ${digest.slice(0, 12)}`;
}
