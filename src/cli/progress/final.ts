/** The end of a run: the table, time and tokens, the folder, suggested commands. */
import { basename, dirname } from "node:path";
import type { Evaluation, RunResult } from "../../runs/records.ts";
import { showCount, showDuration } from "../../format.ts";
import { tableLines } from "../table.ts";
import { lossNotes, showInterval } from "./lines.ts";
import { measureTable } from "./measures.ts";
import { command, runsOption } from "../../command-line.ts";

/** Order: the compared teams, the team before, the team after. */
export function resultTable(table: readonly Evaluation[], label = labelOf): string[] {
  const rows = inOrder(table).map((row) => [
    label(row),
    showInterval(row),
    showCount(row.tasks),
    row.turns.toFixed(2),
  ]);
  return tableLines(
    [
      { title: `${table[0]?.split ?? "held-out"} tasks` },
      { title: "success (95 % interval)", align: "right" },
      { title: "tasks", align: "right" },
      { title: "mean turns", align: "right" },
    ],
    rows,
  );
}

function inOrder(table: readonly Evaluation[]): Evaluation[] {
  return table.toSorted((left, right) => place(left) - place(right));
}

function labelOf({ team, moment }: Evaluation): string {
  return `${team} ${moment}`;
}

function place({ team, moment }: Evaluation): number {
  return team === "team" ? (moment === "after" ? 2 : 1) : 0;
}

/**
 * @param run the run's folder as the user would write it
 * @param available tasks of the evaluated split; Infinity: endless
 */
export function finalLines(result: RunResult, run: string, available: number): string[] {
  const { seconds, tokens, steps } = result;
  const {
    failedEpisodes: failed = 0,
    unrewardedActions: unrewarded = 0,
    unjudgedActions: unjudged = 0,
  } = result;
  const losses = { failed, unrewarded, unjudged };
  const isTrained = steps.warmStart + steps.reinforcement > 0;
  const label = isTrained ? labelOf : ({ team }: Evaluation): string => team;
  const next = nextCommands(result, run, available, isTrained);
  const width = Math.max(...next.map(([line]) => line.length));
  return [
    "",
    ...resultTable(result.table, label),
    ...measureTable(inOrder(result.table), label),
    "",
    ...(steps.warmStart > 0 && steps.reinforcement > 0
      ? ["before: after the warm start, before reinforcement"]
      : []),
    `${showDuration(seconds.total)}: warm start ${showDuration(seconds.warmStart)} (${steps.warmStart} steps), ` +
      `reinforcement ${showDuration(seconds.reinforcement)} (${steps.reinforcement} steps), ` +
      `evaluation ${showDuration(seconds.evaluation)}`,
    ...lossNotes(losses),
    `${showCount(tokens.sampled)} tokens sampled, ${showCount(tokens.trained)} trained on`,
    `files: ${run}`,
    "",
    "next:",
    ...next.map(([line, what]) => `  ${line.padEnd(width)}  ${what}`),
  ];
}

type NextCommand = readonly [command: string, what: string];

/** More tasks than were evaluated make an interval clearly narrower. */
const moreTasks = 2000;

function nextCommands(
  { table }: RunResult,
  run: string,
  available: number,
  isTrained: boolean,
): readonly NextCommand[] {
  const name = basename(run);
  const folder = runsOption(dirname(run));
  const [more, evaluated] = [Math.min(moreTasks, available), Math.max(...table.map(({ tasks }) => tasks))];
  const narrower = [
    command("eval", name, "--tasks", String(more), ...folder),
    "a narrower interval",
  ] as const;
  return [
    [
      command("play", "--run", name, ...folder),
      isTrained ? "play with the trained team" : "play with the team",
    ],
    ...(more > evaluated ? [narrower] : []),
    [command("runs", ...folder), "all runs"],
  ];
}
