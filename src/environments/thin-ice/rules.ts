/** The rules of Thin Ice: what the actions of a phase do to a state. */
import { TroupeError } from "../../errors.ts";
import type { ActionReward, Outcome } from "../environment.ts";
import type { Actions, GameStep } from "../game.ts";
import { distancesTo, isFree, type Board } from "../grid/board.ts";
import { cellNames, cellsByName, moveBetween } from "../grid/cells.ts";
import { canonicalPath } from "../grid/paths.ts";
import type { Half, IceOptions, IceTask } from "./generator.ts";
import { isSayable, readLists, writeAction, type ListShape, type ReadLists } from "./notation.ts";

// The two halves of a lake and the state of their walkers.

export const walkers = ["red", "blue"] as const;
export type Walker = (typeof walkers)[number];

/** One half: its walker, and what the other has told it. */
export type Side = {
  /** The same object in every state of an episode, so that its distances are computed once. */
  readonly ice: Board;
  readonly start: number;
  /** Where the walker is, or fell. */
  readonly at: number;
  readonly fell: boolean;
  /** The smallest distance to the goal at which a walk has ended. */
  readonly closest: number;
  /** The last words that the other has said about this half. */
  readonly heard: readonly string[];
  /** The end of the way that the walker was told, and the smallest distance it has reached. */
  readonly told: { readonly to: number; readonly closest: number };
  /** The cells of the last walk, for people. */
  readonly path: readonly number[];
};

export type Sides = Readonly<Record<Walker, Side>>;

export function startSide({ ice, start }: Half): Side {
  const closest = distancesTo(ice)[start] ?? 0;
  return {
    ice,
    start,
    at: start,
    fell: false,
    closest,
    heard: [],
    told: { to: start, closest },
    path: [start],
  };
}

export function otherOf(walker: Walker): Walker {
  return walker === "red" ? "blue" : "red";
}

export function distanceFrom({ ice }: Pick<Side, "ice">, cell: number): number {
  return distancesTo(ice)[cell] ?? 0;
}

export function isAcross({ ice, at, fell }: Side): boolean {
  return at === ice.goal && !fell;
}

/** The share of the path behind the walker; 0 if it fell. */
export function shareBehind(side: Side): number {
  const whole = distanceFrom(side, side.start);
  return side.fell ? 0 : Math.max(0, whole - distanceFrom(side, side.at)) / whole;
}

/** The result of a walk, or of following a message. */
export interface Walked {
  readonly at: number;
  readonly fell: boolean;
  /** Cells from the first to the last, both included. */
  readonly path: readonly number[];
  readonly problem: string | undefined;
}

/**
 * Walks from cell to cell until the goal, a cell that is not adjacent to the last one (it is not entered), or thin ice.
 * The walk may name its first cell.
 */
export function walk(ice: Board, from: number, cells: readonly number[]): Walked {
  const names = cellNames(ice.size);
  const path = [from];
  let at = from;
  const ended = (problem?: string): Walked => ({ at, fell: !isFree(ice, at), path, problem });
  for (const [index, cell] of cells.entries()) {
    if (index === 0 && cell === from) continue;
    if (at === ice.goal) return ended("continued after the goal");
    if (moveBetween(ice.size, at, cell) < 0)
      return ended(`${nameOf(names, cell)} is not beside ${names[at]}`);
    path.push((at = cell));
    if (!isFree(ice, cell)) return ended(`the ice broke at ${names[cell]}`);
  }
  return ended();
}

function nameOf(names: readonly string[], cell: number): string {
  return names[cell] ?? "a cell off the ice";
}

export function cellsOf(size: number, words: readonly string[]): number[] {
  const cells = cellsByName(size);
  return words.map((word) => cells.get(word) ?? -1);
}

// Which seat moves which walker and sees which ice, and how its actions are labelled.

/** `red` and `blue` are the team; the other two are single players that move both walkers. */
export const seatNames = ["red", "blue", "single", "partial"] as const;
export type Seat = (typeof seatNames)[number];

/** @throws TroupeError `bad_arguments` for another name: a recipe's seats are checked before training. */
export function seatOf(name: string): Seat {
  const seat = seatNames.find((each) => each === name);
  if (seat !== undefined) return seat;
  throw new TroupeError("bad_arguments", `thin-ice has no seat "${name}"; it has ${seatNames.join(", ")}`);
}

export function isOfTeam(seat: Seat): seat is Walker {
  return seat === "red" || seat === "blue";
}

/** Whether the seat sees a walker's thin ice. `partial` sees what red sees. */
export function seesIceOf(seat: Seat, walker: Walker): boolean {
  if (seat === "single") return true;
  return walker === otherOf(seat === "partial" ? "red" : seat);
}

/** The label before the cells of each walker that the seat moves. */
export function walkLabels(seat: Seat): readonly (readonly [label: string, walker: Walker])[] {
  return isOfTeam(seat) ? [["walk", seat]] : walkers.map((walker) => [walker, walker]);
}

// The effect of one seat's action: walks, and a message. Each part of the action changes one half.

/** Words of a message at most; false: no messages. */
export type Messages = IceOptions["messages"];

export interface Part {
  readonly label: string;
  readonly of: Walker;
  readonly change: Partial<Side>;
  /** In [0, 1], unweighted. */
  readonly gain: number;
  readonly problem: string | undefined;
}

export interface Act {
  readonly parts: readonly Part[];
  /** The seat's gain from each part, by label: none if a walker that it moves falls. */
  readonly gains: Readonly<Record<string, number>>;
  readonly wellFormed: boolean;
  readonly problem: string | undefined;
}

/** Messages of this many turns are kept; the oldest words are forgotten. */
const turnsKept = 4;

/** Computed from the halves before anybody acts: a seat does not hear a message of the same phase. */
export function actOf(messages: Messages, sides: Sides, seat: Seat, text: string): Act {
  const walks = walkLabels(seat);
  const { size } = sides.red.ice;
  const says = isOfTeam(seat) && messages !== false ? { limit: messages, to: otherOf(seat) } : null;
  const shapes = [
    ...walks.map(([label]) => walkShape(label, size)),
    ...(says ? [sayShape(says.limit, size)] : []),
  ];
  const read = readLists(text, shapes);
  const parts = walks.map(([label, walker]) =>
    walkPart(label, walker, sides[walker], read.lists[label] ?? []),
  );
  if (says) parts.push(sayPart(says.limit, says.to, sides[says.to], read.lists["say"] ?? []));
  const fell = parts.some(({ change }) => change.fell);
  const walkWeight = (says ? 1 - toldWeight : 1) / walks.length;
  const weigh = ({ label, gain }: Part): number => gain * (label === "say" ? toldWeight : walkWeight);
  return {
    parts,
    gains: Object.fromEntries(parts.map((part) => [part.label, fell ? 0 : weigh(part)])),
    wellFormed: read.wellFormed,
    problem: problemOf(read, shapes, parts),
  };
}

function walkShape(label: string, size: number): ListShape {
  return { label, isWord: (word) => cellsByName(size).has(word), most: 4 * size };
}

function sayShape(most: number, size: number): ListShape {
  return { label: "say", isWord: (word) => isSayable(size, word), most };
}

function walkPart(label: string, walker: Walker, side: Side, words: readonly string[]): Part {
  const { at, fell, path, problem } = walk(side.ice, side.at, cellsOf(side.ice.size, words));
  const gain = gainOf({
    ...attemptFrom(side, side.at, at),
    written: words.length,
    closest: side.closest,
    fell,
  });
  const closest = fell ? side.closest : Math.min(side.closest, distanceFrom(side, at));
  return { label, of: walker, change: { at, fell, path, closest }, gain, problem };
}

/** A message is followed on a copy of the half: it earns what the described way would gain for the other walker. */
function sayPart(limit: number, listener: Walker, side: Side, words: readonly string[]): Part {
  const { ice, told } = side;
  const followed = walk(ice, told.to, cellsOf(ice.size, words));
  const to = (followed.fell ? followed.path.at(-2) : followed.at) ?? told.to;
  const attempt = { ...attemptFrom(side, told.to, to), written: words.length, closest: told.closest };
  const change = {
    heard: [...side.heard, ...words].slice(-turnsKept * limit),
    told: { to, closest: Math.min(told.closest, distanceFrom(side, to)) },
  };
  const problem = followed.problem && `its message: ${followed.problem}`;
  return { label: "say", of: listener, change, gain: gainOf({ ...attempt, fell: followed.fell }), problem };
}

function attemptFrom(
  side: Side,
  from: number,
  to: number,
): { before: number; after: number; atStart: number } {
  const [before, after, atStart] = [from, to, side.start].map((cell) => distanceFrom(side, cell));
  return { before: before ?? 0, after: after ?? 0, atStart: atStart ?? 1 };
}

function problemOf(
  { lists, wellFormed }: ReadLists,
  shapes: readonly ListShape[],
  parts: readonly Part[],
): string | undefined {
  const missing = shapes.find(({ label }) => lists[label] === undefined);
  if (missing !== undefined) return `no list after "${missing.label}"`;
  const problem = parts.find((part) => part.problem !== undefined)?.problem;
  return (
    problem ??
    (wellFormed ? undefined : `more than ${shapes.map(({ label }) => label).join(" and ")} on its line`)
  );
}

export type IceState = {
  readonly red: Side;
  readonly blue: Side;
  /** The highest score so far. */
  readonly best: number;
};

export function startState({ red, blue }: IceTask): IceState {
  return { red: startSide(red), blue: startSide(blue), best: 0 };
}

export function stepState(messages: Messages, state: IceState, actions: Actions): GameStep<IceState> {
  const seats = Object.entries(actions).map(([name, text]) => ({ seat: seatOf(name), text }));
  if (isOver(state)) {
    const rewards = seats.map(({ seat }): [string, ActionReward] => [seat, noReward("the episode is over")]);
    return { state, rewards: Object.fromEntries(rewards), done: true };
  }
  const acts = seats.map(({ seat, text }) => ({ seat, act: actOf(messages, state, seat, text) }));
  const sides = acts
    .flatMap(({ act }) => act.parts)
    .reduce<Sides>((changed, { of, change }) => ({ ...changed, [of]: { ...changed[of], ...change } }), {
      red: state.red,
      blue: state.blue,
    });
  const score = scoreOf(sides);
  const team = isLost(sides) ? 0 : Math.max(0, score - state.best);
  const rewards = acts.map(({ seat, act }): [string, ActionReward] => [seat, rewardOf(team, act)]);
  const next = { ...sides, best: Math.max(state.best, score) };
  return { state: next, rewards: Object.fromEntries(rewards), done: isOver(next) };
}

export function outcomeOf(sides: Sides): Outcome {
  return { success: isSolved(sides), score: scoreOf(sides) };
}

/** It depends only on where the walkers are: no sequence of actions can raise it otherwise. */
function scoreOf(sides: Sides): number {
  return isSolved(sides) ? 1 : (shareBehind(sides.red) + shareBehind(sides.blue)) / 4;
}

function isSolved({ red, blue }: Sides): boolean {
  return isAcross(red) && isAcross(blue);
}

function isLost({ red, blue }: Sides): boolean {
  return red.fell || blue.fell;
}

function isOver(sides: Sides): boolean {
  return isLost(sides) || isSolved(sides);
}

// Optimal play with a view of the whole lake: straight to the goal, and telling the other the rest of its way.

export function solve(messages: Messages, sides: Sides, seat: Seat): string {
  const walks = walkLabels(seat).map(([label, walker]) => [label, wayFrom(sides[walker], sides[walker].at)]);
  const lists = Object.fromEntries(walks) as Record<string, number[]>;
  const { size } = sides.red.ice;
  if (!isOfTeam(seat) || messages === false) return writeAction(size, lists);
  const other = sides[otherOf(seat)];
  return writeAction(size, { ...lists, say: wayFrom(other, other.told.to).slice(0, messages) });
}

/** The cells of a shortest safe path, without the first. */
function wayFrom({ ice }: Side, cell: number): number[] {
  return canonicalPath(ice, cell).slice(1);
}

export const toldWeight = 0.7;

/** A walk, or following a message. Distances are shortest safe paths. */
export interface Attempt {
  /** Cells or words written. */
  readonly written: number;
  readonly before: number;
  readonly after: number;
  /** The smallest distance so far. */
  readonly closest: number;
  readonly atStart: number;
  readonly fell: boolean;
}

/** The new share of the path, times the useful share of what was written. */
export function gainOf({ written, before, after, closest, atStart, fell }: Attempt): number {
  if (written === 0 || fell) return 0;
  return (Math.max(0, closest - after) / atStart) * (Math.max(0, before - after) / written);
}

/** The gains of an action by its parts, which add up to at most 1 over an episode. */
interface Earned {
  readonly gains: Readonly<Record<string, number>>;
  readonly wellFormed: boolean;
  readonly problem: string | undefined;
}

export function rewardOf(team: number, { gains, wellFormed, problem }: Earned): ActionReward {
  const gain = Object.values(gains).reduce((sum, part) => sum + part, 0);
  const weighed = Object.entries(gains).map(([name, part]) => [name, 0.9 * part]);
  const format = wellFormed ? 0.1 * gain : 0;
  const parts: Record<string, number> = { format, ...Object.fromEntries(weighed) };
  const reward = { team, local: format + 0.9 * gain, parts };
  return problem === undefined ? reward : { ...reward, reason: problem };
}

/** For actions after the episode is over. */
export function noReward(problem: string): ActionReward {
  return rewardOf(0, { gains: {}, wellFormed: false, problem });
}
