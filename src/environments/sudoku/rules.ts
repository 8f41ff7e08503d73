/** The rules of Sudoku: what an action does to a state. */
import { TroupeError } from "../../errors.ts";
import type { ActionReward, Outcome, StepResult } from "../environment.ts";
import type { ReadPlacements } from "../placing/read.ts";
import { noReward, rewardOf } from "../placing/rewards.ts";
import type { SudokuTask } from "./generate.ts";
import { digitsOf, gridOf } from "./grid.ts";
import { layoutOf } from "./layout.ts";
import { cellOf, digitOf, isSeat, mostEntries, outside, readEntries } from "./notation.ts";

export type SudokuState = {
  readonly task: SudokuTask;
  /** Clues and what has been entered, as text, "." an open cell. */
  readonly grid: string;
  /** The highest value (entries that are right minus entries that are wrong) that the episode has had. */
  readonly best: number;
  /** What the proposer proposed in this turn, entries of the grid only; null: no proposer has acted. */
  readonly proposed: readonly number[] | null;
  /** The entry that ended the last plan; null: none did. */
  readonly refused: number | null;
};

export function startState(task: SudokuTask): SudokuState {
  return { task, grid: task.clues, best: 0, proposed: null, refused: null };
}

export function stepState(
  state: SudokuState,
  actions: Readonly<Record<string, string>>,
): StepResult<SudokuState> {
  const over = isSolved(state);
  const rewards: Record<string, ActionReward> = {};
  let next = state;
  for (const [seat, text] of Object.entries(actions)) {
    if (!isSeat(seat)) throw new TroupeError("bad_arguments", `sudoku has no seat "${seat}"`);
    if (over) {
      rewards[seat] = noReward("the episode is over");
      continue;
    }
    const read = readEntries(text, state.task.size);
    const tried = carryOut(state, read, seat === "proposer" ? "proposal" : "plan");
    rewards[seat] = tried.reward;
    if (seat === "proposer") next = { ...next, proposed: read.items.filter((entry) => entry !== outside) };
    else {
      const { grid, refused } = tried;
      next = { ...next, grid, refused, best: Math.max(state.best, tried.value) };
    }
  }
  // A proposal is made for a grid: once that has changed, it is out of date.
  if (next.grid !== state.grid) next = { ...next, proposed: null };
  return { state: next, rewards, done: isSolved(next) };
}

export function endTurn(state: SudokuState): SudokuState {
  return state.proposed === null ? state : { ...state, proposed: null };
}

/** The score depends on the grid in the end and on nothing else: no way of getting there can raise it. */
export function outcomeOf(state: SudokuState): Outcome {
  if (isSolved(state)) return { success: true, score: 1 };
  return { success: false, score: Math.max(0, valueOf(state)) / openAtStart(state.task) };
}

function isSolved({ task, grid }: SudokuState): boolean {
  return grid === task.solution;
}

/** Entries that are right minus entries that are wrong. */
export function valueOf({ task, grid }: Pick<SudokuState, "task" | "grid">): number {
  let value = 0;
  for (let cell = 0; cell < grid.length; cell++) {
    if (task.clues[cell] !== "." || grid[cell] === ".") continue;
    value += grid[cell] === task.solution[cell] ? 1 : -1;
  }
  return value;
}

function openAtStart({ clues }: SudokuTask): number {
  let open = 0;
  for (const mark of clues) if (mark === ".") open++;
  return open;
}

interface Tried {
  readonly grid: string;
  readonly value: number;
  readonly refused: number | null;
  readonly reward: ActionReward;
}

/** Enters one after the other until one is refused, which ends the plan: refusals are not to be guessed by. */
function carryOut(state: SudokuState, { items, wellFormed }: ReadPlacements, what: string): Tried {
  const { task, best } = state;
  const entered = enter(state, items);
  const grid = gridOf(entered.digits);
  const value = valueOf({ task, grid });
  const empty = items.length === 0 ? `no ${what} found` : undefined;
  const around = wellFormed ? undefined : `more than a ${what} on its lines`;
  const reward = rewardOf({
    written: items.length,
    carriedOut: entered.changes,
    wellFormed,
    before: valueOf(state),
    after: value,
    best,
    whole: openAtStart(task),
    problem: empty ?? entered.problem ?? around,
  });
  return { grid, value, refused: entered.refused, reward };
}

interface Entered {
  readonly digits: Uint8Array;
  /** Entries that changed something. */
  readonly changes: number;
  readonly problem: string | undefined;
  readonly refused: number | null;
}

function enter({ task, grid }: SudokuState, entries: readonly number[]): Entered {
  const { size } = task;
  const digits = digitsOf(grid);
  let open = digits.reduce((count, digit) => count + (digit === 0 ? 1 : 0), 0);
  let changes = 0;
  for (const entry of entries) {
    // Legal and full is solved: there is one solution.
    if (open === 0 && gridOf(digits) === task.solution)
      return { digits, changes, problem: "went on after the solution", refused: null };
    const problem = refusal(task, digits, entry);
    if (problem !== undefined) return { digits, changes, problem, refused: entry === outside ? null : entry };
    const cell = cellOf(size, entry);
    const [old, digit] = [digits[cell] ?? 0, digitOf(size, entry)];
    if (old === digit) continue;
    open += (digit === 0 ? 1 : 0) - (old === 0 ? 1 : 0);
    digits[cell] = digit;
    changes++;
  }
  return { digits, changes, problem: undefined, refused: null };
}

/** Why an entry cannot be made; undefined where it can. */
function refusal(task: SudokuTask, digits: Uint8Array, entry: number): string | undefined {
  const { size, clues } = task;
  if (entry === outside)
    return `cells are a1 to ${layoutOf(size).names.at(-1)}, digits 1 to ${size}, 0 empties`;
  const { names, peers } = layoutOf(size);
  const cell = cellOf(size, entry);
  const digit = digitOf(size, entry);
  if (clues[cell] !== ".") return digits[cell] === digit ? undefined : `${names[cell]} is a clue`;
  if (digit === 0) return undefined;
  for (const peer of peers[cell] ?? []) {
    if (digits[peer] === digit) return `${names[cell]}=${digit} clashes with ${names[peer]}`;
  }
  return undefined;
}

/** As many words as the longest plan has that a seat may need: every cell emptied and filled again. */
export function longestPlan(size: number, words: number): number {
  return words * mostEntries(size);
}
