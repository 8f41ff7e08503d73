/** The end of a run: the table, what it took, where it is, what to try next. */
import type { Evaluation, RunResult } from "../../runs/records.ts";
import { showCount, showDuration } from "../format.ts";
import { tableLines } from "../table.ts";
import { showInterval } from "./lines.ts";

/** Rows in the order of the result: the teams it was compared with, the team before, the team after. */
export function resultTable(table: readonly Evaluation[]): string[] {
  const rows = table.map((row) => [
    `${row.team} ${row.moment === "during" ? `step ${row.step}` : row.moment}`,
    showInterval(row),
    showCount(row.tasks),
    row.turns.toFixed(2),
  ]);
  return tableLines(
    [
      { title: "held-out tasks" },
      { title: "success (95 % interval)", align: "right" },
      { title: "tasks", align: "right" },
      { title: "mean turns", align: "right" },
    ],
    rows,
  );
}

/** @param run the run's folder, as the user would write it */
export function finalLines(result: RunResult, run: string, name: string): string[] {
  const { seconds, tokens, steps } = result;
  return [
    "",
    ...resultTable(result.table),
    "",
    `${showDuration(seconds.total)}: warm start ${showDuration(seconds.warmStart)} (${steps.warmStart} steps), ` +
      `reinforcement ${showDuration(seconds.reinforcement)} (${steps.reinforcement} steps), ` +
      `evaluation ${showDuration(seconds.evaluation)}`,
    `${showCount(tokens.sampled)} tokens sampled, ${showCount(tokens.trained)} trained on`,
    `everything is in ${run}`,
    "",
    "next:",
    `  troupe play ${result.recipe} --run ${name} --role ROLE   take a seat beside the trained team`,
    `  troupe eval ${name} --tasks 2000                         a narrower interval`,
    "  troupe runs                                              all runs, side by side with `runs compare`",
  ];
}
