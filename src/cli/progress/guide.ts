/** `--guide`: one line on each stage as it begins, and what to do next at the end. For a first run. */
import { command } from "../../command-line.ts";
import { showCount } from "../../format.ts";
import { commandLines } from "./command-lines.ts";
import type { TrainEvent } from "../../train/events.ts";

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

/** How to go on from the included recipe to one's own. */
export function ownLines(recipe: string, width: number): readonly string[] {
  return [
    "your own: write mine.yaml with what should differ, such as",
    `    extends: ${recipe}`,
    "    name: mine",
    "    environment: { size: 6 }",
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
