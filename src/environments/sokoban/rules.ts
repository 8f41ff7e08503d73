/** The rules of Sokoban: what an action does to a state. */
import type { ActionReward, Outcome } from "../environment.ts";
import type { GameStep } from "../game.ts";
import { cellNames, moveWords, neighbourTable } from "../grid/cells.ts";
import { readMoves } from "../grid/read.ts";
import { type Seat, seatOf } from "../planning/seats.ts";
import { longestSolution, type SokobanTask } from "./generator.ts";
import { type Notation, readPushes, writeProposal } from "./notation.ts";
import {
  dead,
  isSolved,
  isWall,
  moveOnce,
  movesLeft,
  onGoals,
  type Push,
  type Room,
  type RoomPosition,
  stepsBetween,
} from "./room.ts";

// The rewards of Sokoban as in the appendix of AT-GRPO (arXiv 2510.11062, C.1), which gives the weights of the local
// terms; with "moves left" the length of a shortest solution:
//
//   team           = 1 when all boxes are on goals, else max(0, boxes on goals − most so far) / boxes
//   planner local  = .1 format + .1 legality  + .8 deadlock
//   proposer local = .1 format + .1 execution + .8 potential
//   deadlock, potential = max(0, moves left before − moves left after) / max(moves written, moves left before)
//
// In a dead room, boxes on goals and moves left count for nothing. "Most so far" counts where plans of the episode
// ended. Pushing a box off its goal and on again therefore earns nothing, and an episode that never solves the room
// earns less than 1 in total. Only a shortest solution earns 1 + 1.

/** An attempted action and its result. */
export interface Attempt {
  /** Moves or pushes written, including those not carried out. */
  readonly written: number;
  readonly carriedOut: number;
  /** Moves used, in a proposal including the steps between the pushes. */
  readonly moves: number;
  readonly wellFormed: boolean;
  readonly solved: boolean;
  /** No solution is left. */
  readonly dead: boolean;
  /** Moves left. */
  readonly before: number;
  readonly after: number;
  readonly onGoals: number;
  /** The most boxes on goals after any plan of this episode so far. */
  readonly most: number;
  readonly boxes: number;
  /** What is wrong with the action. */
  readonly problem: string | undefined;
}

/** The names of a seat's terms after the first, which is the format. */
const terms = { planner: ["legality", "deadlock"], proposer: ["execution", "potential"] } as const;

export function rewardOf(seat: "planner" | "proposer", attempt: Attempt): ActionReward {
  const [done, progress] = terms[seat];
  const { written, carriedOut, wellFormed } = attempt;
  const parts = {
    format: wellFormed && written > 0 ? 0.1 : 0,
    [done]: written > 0 ? 0.1 * (carriedOut / written) : 0,
    [progress]: 0.8 * progressOf(attempt),
  };
  const local = Object.values(parts).reduce((sum, part) => sum + part, 0);
  const reward = { team: teamReward(attempt), local, parts };
  return attempt.problem === undefined ? reward : { ...reward, reason: attempt.problem };
}

/** For actions after the episode is over. */
export function noReward(seat: "planner" | "proposer", reason: string): ActionReward {
  const [done, progress] = terms[seat];
  return { team: 0, local: 0, parts: { format: 0, [done]: 0, [progress]: 0 }, reason };
}

function teamReward(attempt: Attempt): number {
  if (attempt.solved) return 1;
  return attempt.dead ? 0 : Math.max(0, attempt.onGoals - attempt.most) / attempt.boxes;
}

function progressOf(attempt: Attempt): number {
  const { before, after, moves } = attempt;
  return attempt.dead ? 0 : Math.max(0, before - after) / Math.max(moves, before);
}

// Carries out a plan or a proposal until the room is solved or a move is impossible.

/** The final position, and how it was reached. */
export interface PlanResult extends RoomPosition {
  /** Moves or pushes. */
  readonly written: number;
  readonly carriedOut: number;
  /** Moves used; each move not carried out counts as one. */
  readonly moves: number;
  /** The player's cells, including the first; of a proposal only the first and the last. */
  readonly path: readonly number[];
  /** The cell that could not be entered. */
  readonly bumped: number | null;
  readonly problem: string | undefined;
}

const wentOn = "continued after the room was solved";

export function carryOut(room: Room, from: RoomPosition, moves: readonly number[]): PlanResult {
  const path = [from.at];
  let here = from;
  let bumped: number | null = null;
  let problem: string | undefined;
  for (const move of moves) {
    if (isSolved(room, here.boxes)) problem = wentOn;
    else {
      const moved = moveOnce(room, here, move);
      if ("problem" in moved) ({ problem, bumped } = moved);
      else here = moved;
    }
    if (problem !== undefined) break;
    path.push(here.at);
  }
  const { at, boxes } = here;
  const written = moves.length;
  return { at, boxes, written, carriedOut: path.length - 1, moves: written, path, bumped, problem };
}

/** The player takes a shortest walk to each push. */
export function followPushes(room: Room, from: RoomPosition, pushes: readonly Push[]): PlanResult {
  let here = from;
  let carriedOut = 0;
  let moves = 0;
  let problem: string | undefined;
  for (const push of pushes) {
    const pushed = isSolved(room, here.boxes) ? wentOn : pushOnce(room, here, push);
    if (typeof pushed === "string") {
      problem = pushed;
      break;
    }
    here = pushed.position;
    moves += pushed.moves;
    carriedOut++;
  }
  const { at, boxes } = here;
  const written = pushes.length;
  moves += written - carriedOut;
  return { at, boxes, written, carriedOut, moves, path: [from.at, at], bumped: null, problem };
}

/** A string says why the push is impossible. */
function pushOnce(
  room: Room,
  here: RoomPosition,
  { box, move }: Push,
): { readonly position: RoomPosition; readonly moves: number } | string {
  const names = cellNames(room.size);
  if (!here.boxes.includes(box)) return `there is no box at ${names[box] ?? "a cell outside the room"}`;
  const behind = neighbourTable(room.size)[4 * box + (move ^ 1)] ?? -1;
  const steps = stepsBetween(room, here, behind);
  if (steps < 0) return `the player cannot get behind ${names[box]} to push it ${moveWords[move]}`;
  const moved = moveOnce(room, { at: behind, boxes: here.boxes }, move);
  return "problem" in moved ? moved.problem : { position: moved, moves: steps + 1 };
}

export type SokobanState = {
  /** The same object in every state of an episode, so that its solutions are computed once. */
  readonly room: Room;
  /** The player's cell. */
  readonly at: number;
  /** Cells, ascending. */
  readonly boxes: readonly number[];
  /** The most boxes on goals after any plan so far that left the room solvable. */
  readonly most: number;
  /** The proposer's pushes in this turn, boxes of the room only; null: no proposer has acted. */
  readonly proposal: readonly Push[] | null;
  /** The cell that could not be entered when the last plan ended; null: none. */
  readonly bumped: number | null;
  /** The cells of the last plan carried out, for people. */
  readonly path: readonly number[];
};

export function startState({ room, at, boxes }: SokobanTask): SokobanState {
  return { room, at, boxes, most: onGoals(room, boxes), proposal: null, bumped: null, path: [at] };
}

export function stepState(
  state: SokobanState,
  actions: Readonly<Record<string, string>>,
  notation: Notation,
): GameStep<SokobanState> {
  const over = isOver(state);
  const rewards: Record<string, ActionReward> = {};
  let next = state;
  for (const [name, text] of Object.entries(actions)) {
    const seat = seatOf("sokoban", name);
    const effect = over ? undefined : seat === "planner" ? plan(state, text, notation) : propose(state, text);
    rewards[seat] = effect?.reward ?? noReward(seat, "the episode is over");
    next = { ...next, ...effect?.change };
  }
  // A proposal refers to a position: once the player has moved, it is outdated.
  if (next.path !== state.path && next.path.length > 1) next = { ...next, proposal: null };
  return { state: next, rewards, done: isOver(next) };
}

export function endTurn(state: SokobanState): SokobanState {
  return state.proposal === null ? state : { ...state, proposal: null };
}

/** The score depends only on the final position: no sequence of actions can raise it otherwise. */
export function outcomeOf({ room, at, boxes }: SokobanState): Outcome {
  if (isSolved(room, boxes)) return { success: true, score: 1 };
  const lost = movesLeft(room, at, boxes) === dead;
  return { success: false, score: lost ? 0 : onGoals(room, boxes) / boxes.length };
}

/** Solved or dead: no action can change the outcome. */
function isOver({ room, at, boxes }: SokobanState): boolean {
  return movesLeft(room, at, boxes) <= 0;
}

interface Effect {
  readonly reward: ActionReward;
  readonly change: Partial<SokobanState>;
}

function plan(state: SokobanState, text: string, { plan: planNotation }: Notation): Effect {
  const { size } = state.room;
  const { items, wellFormed } = readMoves(text, size, planNotation === "steps");
  const result = carryOut(state.room, state, items);
  const { at, boxes, path, bumped } = result;
  const { reward, most } = rewardFor(state, "planner", result, wellFormed);
  return { reward, change: { at, boxes, path, bumped, most } };
}

/** The proposal is tried on a copy of the state: it earns what its pushes with shortest walks would earn. */
function propose(state: SokobanState, text: string): Effect {
  const { items: pushes, wellFormed } = readPushes(text, state.room.size);
  const { reward } = rewardFor(state, "proposer", followPushes(state.room, state, pushes), wellFormed);
  // At most as long as a solution: a longer list would only fill the planner's prompt.
  const known = pushes.filter(({ box }) => box >= 0).slice(0, longestSolution(state.room.size));
  return { reward, change: { proposal: known } };
}

function rewardFor(
  state: SokobanState,
  seat: Seat,
  result: PlanResult,
  wellFormed: boolean,
): { readonly reward: ActionReward; readonly most: number } {
  const { room } = state;
  const after = movesLeft(room, result.at, result.boxes);
  const on = onGoals(room, result.boxes);
  const reward = rewardOf(seat, {
    ...result,
    wellFormed,
    solved: after === 0,
    dead: after === dead,
    before: movesLeft(room, state.at, state.boxes),
    after,
    onGoals: on,
    most: state.most,
    boxes: state.boxes.length,
    problem: problemOf(seat, result, after, wellFormed),
  });
  return { reward, most: after === dead ? state.most : Math.max(state.most, on) };
}

function problemOf(seat: Seat, result: PlanResult, after: number, wellFormed: boolean): string | undefined {
  const what = seat === "planner" ? "plan" : "proposal";
  if (result.written === 0) return `no ${what} found`;
  if (after === dead) return "the room can no longer be solved";
  return result.problem ?? (wellFormed ? undefined : `more than a ${what} on its line`);
}

// Draws a room for the terminal.

/** Walls, goals, boxes, the player and the last plan's cells, with coordinates, the proposal and a legend. */
export function renderState(state: SokobanState): string {
  const { size } = state.room;
  const letters = Array.from({ length: size }, (_, column) => String.fromCharCode(97 + column));
  const rows = letters.map((_, row) => {
    const marks = letters.map((__, column) => markOf(state, row * size + column));
    return `${String(row + 1).padStart(2)} ${marks.join("")}`;
  });
  const coordinates = `   ${letters.map((letter) => `${letter} `).join("")}`.trimEnd();
  const proposal = state.proposal === null ? [] : [`   proposed: ${proposalText(state)}`];
  return [coordinates, ...rows, ...proposal, legend(state)].join("\n");
}

/** Two characters wide, so that cells look square. */
function markOf({ room, at, boxes, path }: SokobanState, cell: number): string {
  const goal = room.goals.includes(cell);
  if (isWall(room, cell)) return "██";
  if (boxes.includes(cell)) return goal ? "▣ " : "□ ";
  if (cell === at) return "● ";
  if (goal) return "◎ ";
  return path.includes(cell) ? "• " : "· ";
}

function proposalText({ room, proposal }: SokobanState): string {
  return writeProposal(room.size, proposal ?? []) || "nothing";
}

function legend({ room, boxes, at }: SokobanState): string {
  if (isSolved(room, boxes)) return "   all boxes are on goals";
  return `   ● player${room.goals.includes(at) ? " (on a goal)" : ""}   □ box   ◎ goal   ▣ box on a goal   • last plan`;
}
