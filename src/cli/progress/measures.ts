/** What evaluations measured besides success: pass@k and the terms of the team's reward, one column for each team. */
import { showShare } from "../../format.ts";
import type { Evaluation } from "../../runs/records.ts";
import { stackedTables, terminalWidth } from "../table.ts";

/** @param label names a column. No lines if nothing was measured */
export function measureTable(
  evaluations: readonly Evaluation[],
  label: (evaluation: Evaluation) => string,
): string[] {
  const measured = evaluations.map(measuresOf);
  const names = [...new Set(measured.flatMap((each) => Object.keys(each)))];
  if (names.length === 0) return [];
  const rows = names.map((name) => [name, ...measured.map((each) => each[name] ?? "–")]);
  const teams = evaluations.map((each) => ({ title: label(each), align: "right" }) as const);
  return ["", ...stackedTables([{ title: "pass@k, terms of the reward" }, ...teams], rows, terminalWidth())];
}

function measuresOf({ passAt = {}, terms }: Evaluation): Readonly<Record<string, string>> {
  const passes = Object.entries(passAt).map(([k, { mean }]) => [`pass@${k}`, showShare(mean)]);
  const means = Object.entries(terms?.team ?? {}).map(([name, { mean }]) => [name, mean.toFixed(3)]);
  return Object.fromEntries([...passes, ...means]) as Record<string, string>;
}
