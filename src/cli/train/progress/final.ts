/** The end of a run: the table, time and tokens, the folder, suggested commands. */
import { basename, dirname } from "node:path";
import { command, runsOption } from "../../../command-line.ts";
import { showCount, showDuration, showShare } from "../../../format.ts";
import type { Recipe } from "../../../recipes/schema.ts";
import type { Evaluation, RunResult } from "../../../runs/records.ts";
import type { TrainEvent } from "../../../train/events.ts";
import { tableLines, terminalWidth, wrapped } from "../../table.ts";
import { lossNotes, serviceNotes, showInterval, measureTable, watchLine } from "./lines.ts";

/** Order: the compared teams, the team before, the team after. */
export function resultTable(
  table: readonly Evaluation[],
  label = labelOf,
  width = terminalWidth(),
): string[] {
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
      { title: "tasks", align: "right", leftOut: 2 },
      { title: "mean turns", align: "right", leftOut: 1 },
    ],
    rows,
    width,
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

export interface Ending {
  /** Tasks of the evaluated split; Infinity: endless. */
  readonly available: number;
  /** What the recipe asks for. */
  readonly wanted?: Pick<Recipe["evaluation"], "split" | "tasks">;
  /** As measured for the recipe; empty: not measured. Undefined: not an included recipe, or it was changed. */
  readonly expected?: Recipe["expected"] | undefined;
  /** The words after `train` that extend the run. Undefined: it cannot be. */
  readonly extending?: readonly string[] | undefined;
  /** The words after `troupe` that get a trained policy's weights. Undefined: there are none. */
  readonly exporting?: readonly string[] | undefined;
  /** The checkpoint of the best evaluation is there. Default: true. */
  readonly isBestKept?: boolean;
  /** A person can take a seat. Default: true. */
  readonly isPlayable?: boolean;
  /** Of the terminal. */
  readonly width?: number;
}

/** @param run the run's folder as the user would write it */
export function finalLines(
  result: RunResult,
  run: string,
  {
    available,
    wanted,
    expected,
    extending,
    exporting,
    isBestKept = true,
    isPlayable = true,
    width = Infinity,
  }: Ending,
): string[] {
  const { steps } = result;
  const isTrained = steps.warmStart + steps.reinforcement > 0;
  const label = isTrained ? labelOf : ({ team }: Evaluation): string => team;
  return [
    "",
    ...resultTable(result.table, label, width),
    ...measureTable(inOrder(result.table), label),
    "",
    ...[
      ...expectedLines(expected),
      ...fewTasks(available, wanted),
      ...costLines(result, run, isBestKept),
    ].flatMap((line) => wrapped(line, width)),
    "",
    "next:",
    ...commandLines(nextCommands(result, run, available, { extending, exporting, isPlayable }), width),
  ];
}

function fewTasks(available: number, wanted: Ending["wanted"]): string[] {
  if (wanted === undefined || available >= wanted.tasks) return [];
  const has = `the split ${wanted.split} has only ${showCount(available)}`;
  return [`evaluation.tasks asks for ${showCount(wanted.tasks)}, but ${has}`];
}

function expectedLines(expected: Ending["expected"]): string[] {
  const success = expected?.success === undefined ? [] : [`${showShare(expected.success)} after training`];
  const time = expected?.minutes === undefined ? [] : [`${showMinutes(expected.minutes)} on two cores`];
  const facts = [...success, ...time];
  if (expected === undefined) return [];
  return [`expected of this recipe: ${facts.length === 0 ? "not measured" : facts.join(", ")}`];
}

export function showMinutes(minutes: number): string {
  return minutes === 1 ? "1 minute" : `${minutes} minutes`;
}

function costLines(
  { seconds, tokens, steps, best, ...lost }: RunResult,
  run: string,
  isBestKept: boolean,
): string[] {
  const {
    failedEpisodes: failed = 0,
    unrewardedActions: unrewarded = 0,
    unjudgedActions: unjudged = 0,
    flatRoles = {},
    watch = [],
    services,
  } = lost;
  const stages = [
    ["warm start", seconds.warmStart, steps.warmStart] as const,
    ["reinforcement", seconds.reinforcement, steps.reinforcement] as const,
  ].flatMap(([name, spent, count]) =>
    count === 0 ? [] : `${name} ${showDuration(spent)} (${count === 1 ? "1 step" : `${count} steps`})`,
  );
  return [
    ...(steps.warmStart > 0 && steps.reinforcement > 0
      ? ["before: after the warm start, before reinforcement"]
      : []),
    `${showDuration(seconds.total)}: ${[...stages, `evaluation ${showDuration(seconds.evaluation)}`].join(", ")}`,
    ...lossNotes({ failed, unrewarded, unjudged }),
    ...Object.entries(flatRoles).map(
      ([role, count]) => `the ${role} learned nothing in the last ${count} steps: its rewards did not differ`,
    ),
    ...watch.map((record) =>
      watchLine(record, { "warm-start": steps.warmStart, reinforcement: steps.reinforcement }),
    ),
    ...serviceNotes(services, true),
    `${showCount(tokens.sampled)} tokens sampled, ${showCount(tokens.trained)} trained on`,
    ...(best === undefined
      ? []
      : [
          `best evaluation: ${showShare(best.success)} of ${showCount(best.tasks)} tasks after step ${showCount(Math.max(0, best.step - steps.warmStart))}${isBestKept ? ", whose checkpoint is kept" : ""}`,
        ]),
    `files: ${run}`,
  ];
}

/** More tasks than were evaluated make an interval clearly narrower. */
const moreTasks = 2000;

function nextCommands(
  { table, steps }: RunResult,
  run: string,
  available: number,
  { extending, exporting, isPlayable = true }: Pick<Ending, "extending" | "exporting" | "isPlayable">,
): readonly Command[] {
  const name = basename(run);
  const folder = runsOption(dirname(run));
  const [more, evaluated] = [Math.min(moreTasks, available), Math.max(...table.map(({ tasks }) => tasks))];
  const narrower = [
    command("eval", name, "--tasks", String(more), ...folder),
    "a narrower interval",
  ] as const;
  const viewing = [
    command("view", name, ...folder),
    "curves and every stored episode, in the browser",
  ] as const;
  const longer: readonly Command[] = [
    [command("runs", "plot", name, ...folder), "success by step"],
    ...(extending === undefined ? [] : [[command("train", ...extending), "train it further"] as const]),
  ];
  const isTrained = steps.warmStart + steps.reinforcement > 0;
  const playing = [
    command("play", "--run", name, ...folder),
    isTrained ? "play with the trained team" : "play with the team",
  ] as const;
  return [
    viewing,
    ...(isPlayable ? [playing] : []),
    ...(more > evaluated ? [narrower] : []),
    ...(steps.reinforcement > 0 ? longer : []),
    ...(isTrained && exporting !== undefined ? usingCommands(name, exporting, folder) : []),
    [command("runs", ...folder), "all runs"],
  ];
}

/** Weights that servers keep cannot be served from here. */
function usingCommands(name: string, exporting: readonly string[], folder: readonly string[]): Command[] {
  const weights = [command(...exporting, ...folder), "its weights for other programs"] as const;
  if (exporting[0] !== "export") return [weights];
  return [
    [command("serve", name, "--openai", ...folder), "its roles behind an OpenAI-compatible URL"],
    weights,
  ];
}

export type Command = readonly [command: string, what: string];

/** In a narrow terminal what a command does is on a line of its own: a broken line could not be pasted. */
function commandLines(commands: readonly Command[], width: number): string[] {
  const longest = Math.max(...commands.map(([line]) => line.length));
  const fits = commands.every(([, what]) => 2 + longest + 2 + what.length <= width);
  return commands.flatMap(([line, what]) =>
    fits ? [`  ${line.padEnd(longest)}  ${what}`] : [`  ${line}`, `      ${what}`],
  );
}

/** What the event begins, in one line each; none for most events. */
export function guideLines(event: TrainEvent): readonly string[] {
  switch (event.type) {
    case "run-started":
      return ["First one task with untrained weights, then what the team makes of it as it learns."];
    case "stage-started":
      return [stageLine(event)];
    case "evaluation-started":
      return event.team === "team" ? [evaluationLine(event)] : [];
    default:
      return [];
  }
}

function stageLine({ stage, steps }: Extract<TrainEvent, { type: "stage-started" }>): string {
  const count = `${showCount(steps)} steps`;
  return stage === "warm-start"
    ? `Warm start, ${count}: the team imitates demonstrations, to learn what an action looks like.`
    : `Reinforcement, ${count}: the team plays; actions that earn more than others in their place become more likely.`;
}

function evaluationLine({ moment, tasks }: Extract<TrainEvent, { type: "evaluation-started" }>): string {
  const when = { before: "before reinforcement", during: "on the way", after: "at the end" }[moment];
  return `Evaluation ${when}: ${showCount(tasks)} held-out tasks, which are never trained on.`;
}

/** How to go on from the included recipe: to a larger board after the first one, to one's own in any case. */
export function ownLines(recipe: string, width: number): readonly string[] {
  const larger = [
    command("train", "plan-path", "--guide"),
    "10×10 boards, and a team that starts lower",
  ] as const;
  return [
    ...(recipe === firstRecipe ? ["the same team, a harder task:", ...commandLines([larger], width)] : []),
    "your own: write mine.yaml with what should differ, such as",
    `    extends: ${recipe}`,
    "    name: mine",
    "    environment: { size: 8 }",
    ...commandLines(
      [
        [command("train", "mine.yaml", "--dry-run"), "checks it and estimates time and memory"],
        [command("train", "mine.yaml"), "trains it"],
      ],
      width,
    ),
    "docs/train-your-own.md: your own pretrained model; docs/writing-an-environment.md: your own game",
  ];
}

/** What `npm start` trains. */
const firstRecipe = "quick-start";
