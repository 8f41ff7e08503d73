/** The rules of Plan-Path: what an action does to a state. */
import { TroupeError } from "../../errors.ts";
import type { ActionReward, Outcome } from "../environment.ts";
import type { GameStep } from "../game.ts";
import { type Board, distancesTo, isFree } from "../grid/board.ts";
import { cellNames, moveBetween, moveWords, neighbourTable } from "../grid/cells.ts";
import { readCells, readMoves } from "../grid/read.ts";
import { noReward, rewardOf } from "../planning/distance-rewards.ts";
import type { PathTask } from "./generator.ts";
import type { Notation } from "./notation.ts";

export type Seat = "scout" | "planner";

export type PathState = {
  /** The same object in every state of an episode, so that its distances are computed once. */
  readonly board: Board;
  readonly start: number;
  /** The agent's cell. */
  readonly at: number;
  /** The smallest distance to the goal at which a plan has ended. */
  readonly closest: number;
  /** The scout's cells in this turn, cells of the board only; null: no scout has acted. */
  readonly route: readonly number[] | null;
  /** The wall that ended the last plan, as long as the agent has not moved; null: none. */
  readonly bumped: number | null;
  /** The cells of the last plan carried out, for people. */
  readonly path: readonly number[];
};

/** An invalid move: a jump between cells that are not adjacent, or off the board. */
const jump = -1;

export function startState({ board, start }: PathTask): PathState {
  return {
    board,
    start,
    at: start,
    closest: distanceAt(board, start),
    route: null,
    bumped: null,
    path: [start],
  };
}

export function stepState(
  state: PathState,
  actions: Readonly<Record<string, string>>,
  notation: Notation,
  scoutWalks = false,
): GameStep<PathState> {
  const over = state.at === state.board.goal;
  const rewards: Record<string, ActionReward> = {};
  let next = state;
  for (const [seat, text] of Object.entries(actions)) {
    if (!isSeat(seat)) throw new TroupeError("bad_arguments", `plan-path has no seat "${seat}"`);
    if (over) rewards[seat] = noReward("path", "the episode is over");
    else if (seat === "scout") {
      const tried = tryRoute(state, text);
      rewards[seat] = tried.reward;
      next = scoutWalks ? moved(next, tried) : { ...next, route: routeOf(state.board, text) };
    } else {
      const tried = carryOut(state, text, notation);
      rewards[seat] = tried.reward;
      next = moved(next, tried);
    }
  }
  // A route starts where it was proposed: once the agent has moved, it is outdated.
  if (next.at !== state.at) next = { ...next, route: null };
  return { state: next, rewards, done: next.at === next.board.goal };
}

function moved(state: PathState, { at, path, bumped, distance }: Judged): PathState {
  return { ...state, at, path, bumped, closest: Math.min(state.closest, distance) };
}

export function endTurn(state: PathState): PathState {
  return state.route === null ? state : { ...state, route: null };
}

/** The score depends only on the agent's final cell: no sequence of actions can raise it otherwise. */
export function outcomeOf({ board, start, at }: PathState): Outcome {
  if (at === board.goal) return { success: true, score: 1 };
  const atStart = distanceAt(board, start);
  return { success: false, score: Math.max(0, atStart - distanceAt(board, at)) / atStart };
}

export function isSeat(seat: string): seat is Seat {
  return seat === "scout" || seat === "planner";
}

/** At most as many cells as the scout has tokens: a longer list would only fill the planner's prompt. */
export function longestRoute(size: number): number {
  return 4 * size;
}

function routeOf(board: Board, text: string): number[] {
  const { items } = readCells(text, board.size);
  return items.filter((cell) => cell >= 0).slice(0, longestRoute(board.size));
}

/** The scout's route is tried on a copy of the state: it earns what following it would earn. */
function tryRoute(state: PathState, text: string): Judged {
  const { items, wellFormed } = readCells(text, state.board.size);
  const cells = items[0] === state.at ? items : [state.at, ...items];
  const moves = cells.slice(1).map((cell, index) => moveBetween(state.board.size, cells[index] ?? -1, cell));
  return judge(state, moves, wellFormed, "route");
}

function carryOut(state: PathState, text: string, notation: Notation): Judged {
  const { items, wellFormed } = readMoves(text, state.board.size, notation.plan === "steps");
  return judge(state, items, wellFormed, "plan");
}

interface Judged {
  readonly at: number;
  readonly distance: number;
  readonly path: readonly number[];
  readonly bumped: number | null;
  readonly reward: ActionReward;
}

function judge(state: PathState, moves: readonly number[], wellFormed: boolean, what: string): Judged {
  const walked = walk(state.board, state.at, moves);
  const at = walked.path.at(-1) ?? state.at;
  const distance = distanceAt(state.board, at);
  const empty = moves.length === 0 ? `no ${what} found` : undefined;
  const around = wellFormed ? undefined : `more than a ${what} on its line`;
  const reward = rewardOf("path", {
    written: moves.length,
    carriedOut: walked.path.length - 1,
    wellFormed,
    before: distanceAt(state.board, state.at),
    after: distance,
    closest: state.closest,
    atStart: distanceAt(state.board, state.start),
    problem: empty ?? walked.problem ?? around,
  });
  return { at, distance, path: walked.path, bumped: walked.bumped, reward };
}

interface Walk {
  /** Cells from the first to the last, both included. */
  readonly path: readonly number[];
  readonly problem: string | undefined;
  /** The wall that ended the walk. */
  readonly bumped: number | null;
}

/** Walks until the goal or an impossible move, which ends the plan. */
function walk(board: Board, from: number, moves: readonly number[]): Walk {
  const table = neighbourTable(board.size);
  const path = [from];
  let at = from;
  for (const move of moves) {
    if (at === board.goal) return { path, problem: "continued after the goal", bumped: null };
    const next = move === jump ? -1 : (table[4 * at + move] ?? -1);
    if (next < 0) return { path, problem: bump(board, at, move, next), bumped: null };
    if (!isFree(board, next)) return { path, problem: bump(board, at, move, next), bumped: next };
    path.push(next);
    at = next;
  }
  return { path, problem: undefined, bumped: null };
}

function bump(board: Board, at: number, move: number, next: number): string {
  const names = cellNames(board.size);
  if (move === jump) return `jumped from ${names[at]}`;
  const where = next < 0 ? "the edge of the board" : `the wall at ${names[next]}`;
  return `bumped into ${where} going ${moveWords[move]} from ${names[at]}`;
}

function distanceAt(board: Board, cell: number): number {
  return distancesTo(board)[cell] ?? 0;
}

// Draws a board for the terminal.

/** Walls, the last plan's cells, the scout's route, start, goal and agent, with coordinates and a legend. */
export function renderState(state: PathState): string {
  const { size } = state.board;
  const letters = Array.from({ length: size }, (_, column) => String.fromCharCode(97 + column));
  const rows = letters.map((_, row) => {
    const marks = letters.map((__, column) => markOf(state, row * size + column));
    return `${String(row + 1).padStart(2)} ${marks.join("")}`;
  });
  const coordinates = `   ${letters.map((letter) => `${letter} `).join("")}`.trimEnd();
  return [coordinates, ...rows, legend(state)].join("\n");
}

/** Two characters wide, so that cells look square. */
function markOf(state: PathState, cell: number): string {
  if (!isFree(state.board, cell)) return "██";
  if (cell === state.at) return cell === state.board.goal ? "★ " : "● ";
  if (cell === state.board.goal) return "◎ ";
  if (cell === state.start) return "○ ";
  if (state.path.includes(cell)) return "• ";
  return state.route?.includes(cell) === true ? "+ " : "· ";
}

function legend(state: PathState): string {
  if (state.at === state.board.goal) return "   ★ at the goal   ○ start   • last plan";
  return `   ● agent   ◎ goal   ○ start   • last plan${state.route === null ? "" : "   + scout's route"}`;
}
