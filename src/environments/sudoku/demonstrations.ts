/** Solved examples for a supervised warm start, from positions of training puzzles. */
import type { Generator, Key } from "../../random.ts";
import { childKey, drawFloat, drawInt, generatorOf } from "../../random.ts";
import type { Demonstration } from "../environment.ts";
import { candidateSets } from "./deduce.ts";
import { drawTask, type SudokuTask } from "./generate.ts";
import { digitsOf, gridOf } from "./grid.ts";
import { layoutOf } from "./layout.ts";
import { cellOf, entryOf, type Scene, writeObservation, writePlan } from "./notation.ts";
import { clueRange, type SudokuOptions } from "./options.ts";
import { solvingPlan } from "./solver.ts";

/**
 * The examples of one training puzzle, one for each position: a proposer's or a planner's plan. Where both seats are
 * asked for, most of the planner's examples show it a proposal, in a share of them a wrong one, so that it learns to look
 * at what it reads, and a share none, so that it also learns to fill alone.
 */
export function demonstrate(options: SudokuOptions, key: Key, seats: readonly string[]): Demonstration[] {
  const { size } = options;
  const clues = clueRange(size, options.clues);
  const task = drawTask({ size, clues }, "train", childKey(key, "task"));
  const generator = generatorOf(childKey(key, "positions"));
  return Array.from({ length: options.demonstrations.positionsPerPuzzle }, () =>
    demonstratePosition(options, task, seats, generator),
  );
}

function demonstratePosition(
  options: SudokuOptions,
  task: SudokuTask,
  seats: readonly string[],
  generator: Generator,
): Demonstration {
  const { size, plan, demonstrations } = options;
  const team = seats.includes("proposer") && seats.includes("planner");
  const proposes = team ? drawFloat(generator) < demonstrations.proposer : seats.includes("proposer");
  const grid = drawPosition(options, task, generator);
  const order = demonstrations.order === "random" ? generator : undefined;
  const whole = solvingPlan(task, grid, order);
  const shown = brokenOff(options, whole, generator);
  const refused = refusedBefore(options, task, grid, generator);
  const scene: Scene = { size, clues: task.clues, grid, refused, proposed: null };
  const example = (seat: "proposer" | "planner", entries: readonly number[], seen: Scene): Demonstration => ({
    seat,
    observation: writeObservation(seat, seen),
    action: writePlan(plan, size, entries),
  });
  if (proposes) return example("proposer", shown, scene);
  if (!team || drawFloat(generator) < demonstrations.alone) return example("planner", shown, scene);
  const proposed =
    drawFloat(generator) < demonstrations.wrongProposal ? spoiled(task, shown, generator) : shown;
  return example("planner", shown, { ...scene, proposed });
}

/** The clues alone, or with some cells filled in the order of deduction, one of them now and then wrong. */
function drawPosition(options: SudokuOptions, task: SudokuTask, generator: Generator): string {
  const { begun, mistaken } = options.demonstrations;
  if (drawFloat(generator) >= begun) return task.clues;
  const { size } = task;
  const plan = solvingPlan(task, task.clues, generator);
  const digits = digitsOf(task.clues);
  for (const entry of plan.slice(0, drawInt(generator, plan.length))) {
    digits[cellOf(size, entry)] = entry % (size + 1);
  }
  return drawFloat(generator) < mistaken ? withMistake(task, digits, generator) : gridOf(digits);
}

/** One open cell is filled as the rules allow it but not as the solution has it, where there is such a cell. */
function withMistake(task: SudokuTask, digits: Uint8Array, generator: Generator): string {
  const { size, solution } = task;
  const right = digitsOf(solution);
  const candidates = candidateSets(layoutOf(size), digits);
  const mistakes = Array.from(candidates.keys()).flatMap((cell) =>
    Array.from({ length: size }, (_, index) => index + 1)
      .filter((digit) => (((candidates[cell] ?? 0) >> digit) & 1) === 1 && digit !== right[cell])
      .map((digit) => [cell, digit] as const),
  );
  const [cell, digit] = mistakes[drawInt(generator, Math.max(1, mistakes.length))] ?? [-1, 0];
  const changed = digits.slice();
  if (cell >= 0) changed[cell] = digit;
  return gridOf(changed);
}

/** The plan, or its beginning: after each entry but the last it breaks off with the probability asked for. */
function brokenOff(options: SudokuOptions, plan: readonly number[], generator: Generator): readonly number[] {
  let length = 1;
  while (length < plan.length && drawFloat(generator) >= options.demonstrations.breakOff) length++;
  return plan.slice(0, length);
}

/** As if a plan had just been ended by an entry that clashes: some digit of an open cell that is not free. */
function refusedBefore(
  options: SudokuOptions,
  { size }: SudokuTask,
  grid: string,
  generator: Generator,
): number | null {
  if (drawFloat(generator) >= options.demonstrations.refused) return null;
  const candidates = candidateSets(layoutOf(size), digitsOf(grid));
  const open = Array.from(candidates.keys()).filter((cell) => grid[cell] === ".");
  const cell = open[drawInt(generator, Math.max(1, open.length))];
  const digit = 1 + drawInt(generator, size);
  if (cell === undefined || (((candidates[cell] ?? 0) >> digit) & 1) === 1) return null;
  return entryOf(size, cell, digit);
}

/** The mistakes of real proposers: nothing, an entry left out, a wrong digit. */
function spoiled({ size }: SudokuTask, plan: readonly number[], generator: Generator): number[] {
  const index = drawInt(generator, plan.length);
  const other = 1 + drawInt(generator, size - 1);
  const kinds = [
    () => [],
    () => plan.filter((_, position) => position !== index),
    ...[1, 2, 3].map(
      () => () =>
        plan.map((entry, position) => (position === index ? changedDigit(size, entry, other) : entry)),
    ),
  ];
  return kinds[drawInt(generator, kinds.length)]?.() ?? [];
}

/** The entry with its digit (1 to size) moved on by `steps`, 1 to size − 1: another digit. */
function changedDigit(size: number, entry: number, steps: number): number {
  const cell = cellOf(size, entry);
  return entryOf(size, cell, (((entry % (size + 1)) - 1 + steps + size) % size) + 1);
}
