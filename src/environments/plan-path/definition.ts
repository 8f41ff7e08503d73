/** Plan-Path: a team finds its way across a board with walls (AT-GRPO, arXiv 2510.11062). */
import { TroupeError } from "../../errors.ts";
import { childKey, drawFloat, drawInt, type Generator, generatorOf, type Key } from "../../random.ts";
import type { Demonstration, SeatDescription } from "../environment.ts";
import type { Game, GameDefinition } from "../game.ts";
import { type Board, isFree } from "../grid/board.ts";
import { neighbourTable } from "../grid/cells.ts";
import { canonicalPath, randomPath } from "../grid/paths.ts";
import { brokenOff } from "../planning/demonstrations.ts";
import { outputMayBeWrong } from "../programs/seat.ts";
import {
  drawTask,
  drawTasksOn,
  pathOptions,
  type PathOptions,
  type PathTask,
  pathTaskSchema,
} from "./generator.ts";
import {
  type Notation,
  notationWords,
  type Scene,
  writeObservation,
  writePlan,
  writeRoute,
} from "./notation.ts";
import {
  endTurn,
  isSeat,
  longestRoute,
  outcomeOf,
  type PathState,
  renderState,
  type Seat,
  startState,
  stepState,
} from "./rules.ts";

// Solved examples for a supervised warm start, each from the start of a training task.

/**
 * The examples of one training board, one for each of its tasks: a scout's route or a planner's plan. If both seats are
 * requested, most planner examples show a route. A share of the routes is wrong, so that the planner does not follow
 * blindly; a share of the examples has none, so that it also learns to plan alone.
 */
export function demonstrate(options: PathOptions, key: Key, seats: readonly string[]): Demonstration[] {
  // All lengths are equally likely: the last steps before the goal are learned from short paths.
  const first = drawTask({ ...options, longestOf: 1 }, "train", childKey(key, "task"));
  const generator = generatorOf(childKey(key, "paths"));
  const more = drawTasksOn(first.board, "train", generator, options.demonstrations.tasksPerBoard - 1);
  return [first, ...more].map((task) => demonstrateTask(options, task, seats, generator));
}

function demonstrateTask(
  options: PathOptions,
  task: PathTask,
  seats: readonly string[],
  generator: Generator,
): Demonstration {
  const team = seats.includes("scout") && seats.includes("planner");
  const scouts = team ? drawFloat(generator) < options.demonstrations.scout : seats.includes("scout");
  const best = demonstratedPath(options, task, generator);
  const scene = {
    board: task.board,
    at: task.start,
    bumped: bumpedBefore(options, task, generator),
    route: null,
  };
  if (scouts) return scoutExample(options, scene, best);
  const seen = team ? seenRoute(options, task, best, generator) : null;
  // A correct route is followed; a wrong one does not determine a path.
  const taken = seen === null || seen === best ? best : demonstratedPath(options, task, generator);
  return plannerExample(options, { ...scene, route: seen }, taken);
}

/**
 * As if a plan straight towards the goal had just ended at a wall. Null if none is in the way, and in other examples.
 */
function bumpedBefore(options: PathOptions, { board, start }: PathTask, generator: Generator): number | null {
  if (drawFloat(generator) >= options.demonstrations.bumped) return null;
  const table = neighbourTable(board.size);
  const beside = [0, 1, 2, 3].map((move) => table[4 * start + move] ?? -1);
  const walls = beside.filter((cell) => cell >= 0 && !isFree(board, cell));
  const nearer = walls.filter((cell) => straightLine(board, cell) < straightLine(board, start));
  return nearer[drawInt(generator, Math.max(1, nearer.length))] ?? null;
}

/** Moves to the goal on a board without walls. */
function straightLine({ size, goal }: Board, cell: number): number {
  const rows = Math.abs(Math.floor(cell / size) - Math.floor(goal / size));
  return rows + Math.abs((cell % size) - (goal % size));
}

function scoutExample(options: PathOptions, scene: Scene, path: readonly number[]): Demonstration {
  const observation = writeObservation(notationOf(options), "scout", scene);
  return { seat: "scout", observation, action: writeRoute(scene.board.size, path) };
}

function plannerExample(options: PathOptions, scene: Scene, path: readonly number[]): Demonstration {
  const observation = writeObservation(notationOf(options), "planner", scene);
  return { seat: "planner", observation, action: writePlan(options.plan, scene.board.size, path) };
}

function notationOf(options: PathOptions): { board: PathOptions["notation"]; plan: PathOptions["plan"] } {
  return { board: options.notation, plan: options.plan };
}

/** A shortest path, or a prefix: after each move but the last it stops with the given probability. */
function demonstratedPath(options: PathOptions, task: PathTask, generator: Generator): number[] {
  const { paths, breakOff } = options.demonstrations;
  const whole =
    paths === "canonical"
      ? canonicalPath(task.board, task.start)
      : randomPath(task.board, task.start, generator);
  const [from, ...reached] = whole;
  return from === undefined ? [] : [from, ...brokenOff(breakOff, reached, generator)];
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

/** Mistakes of real scouts: nothing, a truncated route, one with a gap, one straight through the walls. */
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

// Instructions and input of a scout that writes programs.

export function pathPrograms({ size, programs }: PathOptions): Pick<Game<PathTask, PathState>, "programs"> {
  if (programs === undefined) return {};
  const task =
    `An agent walks on a board of ${size} rows and ${size} columns, one cell up, down, left or right at a time; a plan is a ` +
    `shortest way to the goal. "grid" has the rows from the top, "#" a wall and "." a free cell; "at" and "goal" are ` +
    `[row, column] of the agent and of the goal, counted from 0. Print the moves in one line, like this: right down down`;
  return {
    programs: { writer: "scout", reader: "planner", task: `${task}.`, input: inputOf, limits: programs },
  };
}

function inputOf({ board: { size, walls, goal }, at }: PathState) {
  const place = (cell: number): number[] => [Math.floor(cell / size), cell % size];
  const grid = Array.from({ length: size }, (_, row) => walls.slice(row * size, (row + 1) * size));
  return { grid, at: place(at), goal: place(goal) };
}

export const planPath: GameDefinition<PathOptions> = {
  name: "plan-path",
  summary: "A scout proposes a route across a board with walls, a planner walks it.",
  options: pathOptions,
  create: createPlanPath,
};

export function createPlanPath(options: PathOptions): Game<PathTask, PathState> {
  const notation: Notation = { board: options.notation, plan: options.plan };
  return {
    name: planPath.name,
    seats: seatDescriptions(options),
    words: notationWords(notation, options.size),
    // No seat is summable: approaching the goal is rewarded again after every step back, and so is the format.
    summable: [],
    taskSchema: pathTaskSchema,
    task: (split, key) => drawTask(options, split, key),
    start: startState,
    observe: (state, seat) => writeObservation(notation, known(seat), state),
    step: (state, actions) => stepState(state, actions, notation, options.scoutWalks),
    endTurn,
    outcome: outcomeOf,
    demonstrations: (key, seats) => demonstrate(options, key, seats),
    render: renderState,
    ...pathPrograms(options),
    solve(state, seat) {
      const path = canonicalPath(state.board, state.at);
      const { size } = state.board;
      return known(seat) === "scout" ? writeRoute(size, path) : writePlan(options.plan, size, path);
    },
  };
}

function seatDescriptions({ size, plan, scoutWalks, programs }: PathOptions): Record<Seat, SeatDescription> {
  const board =
    `The board has ${size} rows and ${size} columns. A cell is a column letter and a row number: a1 is the top left ` +
    `cell, b1 is to the right of it, a2 is below it. Walls cannot be entered; "bumped" names the one that ended the last plan.`;
  const steps = `with the cells between the moves, like this: c4 right d4 down d5`;
  return {
    scout: {
      purpose: "Proposes a route from the agent's cell to the goal, as a list of cells.",
      prompt:
        `You are the scout. ${board} Find a shortest route from the cell after "at" to the goal. ` +
        `End with one line that has only the cells of the route, like this: c4 d4 d5`,
      maxTokens: longestRoute(size),
      ...(scoutWalks === true
        ? { alone: "with `environment.scoutWalks` its route moves the agent", repeats: true as const }
        : {}),
    },
    planner: {
      purpose: "Reads the board and the scout's route, if there is one, and moves the agent.",
      prompt:
        `You are the planner. ${board} Move from the cell after "at" to the goal in as few moves as possible. ` +
        `${programs === undefined ? "The scout's route may be wrong." : outputMayBeWrong} End with one line that has only the moves up, down, left and right` +
        (plan === "steps" ? `, ${steps}` : `, like this: right down`),
      maxTokens: plan === "steps" ? 2 * longestRoute(size) : longestRoute(size),
      repeats: true,
    },
  };
}

function known(seat: string): Seat {
  if (isSeat(seat)) return seat;
  throw new TroupeError("bad_arguments", `plan-path has no seat "${seat}"; it has scout and planner`);
}
