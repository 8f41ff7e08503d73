/** Solved examples for a supervised warm start, each from the start of a training task. */
import type { Generator, Key } from "../../random.ts";
import { childKey, drawFloat, drawInt, generatorOf } from "../../random.ts";
import type { Demonstration } from "../environment.ts";
import type { Board } from "./board.ts";
import { drawTask, drawTasksOn, type PathTask } from "./generate.ts";
import { writeObservation, writePlan, writeRoute } from "./notation.ts";
import type { PathOptions } from "./options.ts";
import { canonicalPath, randomPath } from "./solver.ts";

/**
 * The examples of one training board: for each of its tasks the scout's route, the planner's plan, or both. Where both
 * seats are asked for, the planner's example shows it the scout's route; in a share of them a wrong one, so that it does
 * not learn to follow blindly, and in a share none, so that it also learns to plan alone.
 */
export function demonstrate(options: PathOptions, key: Key, seats: readonly string[]): Demonstration[] {
  const first = drawTask(options, "train", childKey(key, "task"));
  const generator = generatorOf(childKey(key, "paths"));
  const more = drawTasksOn(first.board, "train", generator, options.demonstrations.tasksPerBoard - 1);
  return [first, ...more].flatMap((task) => demonstrateTask(options, task, seats, generator));
}

function demonstrateTask(
  options: PathOptions,
  task: PathTask,
  seats: readonly string[],
  generator: Generator,
): Demonstration[] {
  const best = shortestPath(options, task, generator);
  const examples: Demonstration[] = [];
  if (seats.includes("scout")) examples.push(scoutExample(options, task, best));
  if (seats.includes("planner")) {
    const seen = seats.includes("scout") ? seenRoute(options, task, best, generator) : null;
    // A good route is followed; a wrong one says nothing about which shortest path is meant.
    const taken = seen === best ? best : shortestPath(options, task, generator);
    examples.push(plannerExample(options, task, seen, taken));
  }
  return examples;
}

function scoutExample(
  options: PathOptions,
  { board, start }: PathTask,
  best: readonly number[],
): Demonstration {
  const observation = writeObservation(notationOf(options), "scout", board, start, null);
  return { seat: "scout", observation, action: writeRoute(board.size, best) };
}

function plannerExample(
  options: PathOptions,
  { board, start }: PathTask,
  seen: readonly number[] | null,
  taken: readonly number[],
): Demonstration {
  const observation = writeObservation(notationOf(options), "planner", board, start, seen);
  return { seat: "planner", observation, action: writePlan(options.plan, board.size, taken) };
}

function notationOf(options: PathOptions): { board: PathOptions["notation"]; plan: PathOptions["plan"] } {
  return { board: options.notation, plan: options.plan };
}

function shortestPath(options: PathOptions, task: PathTask, generator: Generator): number[] {
  if (options.demonstrations.paths === "canonical") return canonicalPath(task.board, task.start);
  return randomPath(task.board, task.start, generator);
}

function seenRoute(
  options: PathOptions,
  task: PathTask,
  best: readonly number[],
  generator: Generator,
): readonly number[] | null {
  const { alone, wrongRoute } = options.demonstrations;
  const chance = drawFloat(generator);
  if (chance < alone) return null;
  return chance < alone + (1 - alone) * wrongRoute ? spoiledRoute(task, best, generator) : best;
}

/** The mistakes of real scouts: nothing, a route cut short, one with a gap, one straight through the walls. */
function spoiledRoute({ board, start }: PathTask, best: readonly number[], generator: Generator): number[] {
  const index = drawInt(generator, best.length);
  const kinds = [
    () => [],
    () => best.slice(0, index),
    () => best.filter((_, position) => position !== index),
    () => canonicalPath(withoutWalls(board), start),
  ];
  return kinds[drawInt(generator, kinds.length)]?.() ?? [];
}

function withoutWalls(board: Board): Board {
  const walls = Array.from(board.walls, () => ".").join("");
  return { ...board, walls };
}
