/**
 * The notation of towers, proposals and plans for a model: words separated by single spaces or line breaks, so that a
 * word-level tokenizer gives one token for each. All wording is in this file.
 */
import { readLastLine, type ReadList } from "../planning/last-line.ts";
import { lastList } from "../planning/lists.ts";

// Blocks on a table: what is on what, and the effect of a move.

/** The table, as a support and as a destination. */
export const table = -1;

/** For each block (numbered from 0) the block beneath it, or `table`. */
export type Towers = readonly number[];

/** A move of the top block of a tower. A type, not an interface: only types are assignable to Json. */
export type Move = {
  readonly block: number;
  readonly to: number;
};

/** Blocks are named by letters. */
export function blockName(block: number): string {
  return block === table ? "table" : String.fromCharCode(97 + block);
}

function isClear(on: Towers, block: number): boolean {
  return !on.includes(block);
}

/** Why a move is impossible; undefined: it is possible. */
export function problemOf(on: Towers, { block, to }: Move): string | undefined {
  const name = blockName(block);
  if (!(block in on)) return "moved a block that is not there";
  if (to !== table && !(to in on)) return `moved ${name} onto a block that is not there`;
  if (!isClear(on, block)) return `moved ${name}, which has a block on it`;
  if (to === block) return `moved ${name} onto itself`;
  if (on[block] === to) return `moved ${name} to where it is`;
  if (to !== table && !isClear(on, to)) return `moved ${name} onto ${blockName(to)}, which has a block on it`;
  return undefined;
}

export function afterMove(on: Towers, { block, to }: Move): number[] {
  return on.map((below, index) => (index === block ? to : below));
}

export function sameTowers(one: Towers, other: Towers): boolean {
  return one.every((below, block) => below === other[block]);
}

/** The towers from the table up, in the order of their lowest blocks. */
export function listTowers(on: Towers): number[][] {
  const towers: number[][] = [];
  on.forEach((below, block) => {
    if (below !== table) return;
    const tower: number[] = [];
    for (let next = block; next >= 0; next = on.indexOf(next)) tower.push(next);
    towers.push(tower);
  });
  return towers;
}

/**
 * The destination of a block if only blocks are named: its place in the goal if that is ready (its support is placed as
 * in the goal and clear), otherwise the table. Some shortest plan consists of such moves (Gupta and Nau 1992, On the
 * complexity of blocks-world planning).
 */
export function placeFor(on: Towers, goal: Towers, block: number): number {
  const to = goal[block] ?? table;
  return to !== table && isClear(on, to) && isDone(on, goal, to) ? to : table;
}

/** The block and all beneath it are placed as in the goal. */
function isDone(on: Towers, goal: Towers, block: number): boolean {
  for (let next = block; next !== table; next = on[next] ?? table) {
    if (on[next] !== goal[next]) return false;
  }
  return true;
}

/** The last word of an observation names what to write: roles that share a policy can tell which one they are. */
const cues = { proposer: "order", planner: "plan" } as const;

/** What an observation contains, besides the word for its seat. */
export interface Scene {
  readonly goal: Towers;
  readonly on: Towers;
  /** The impossible move that ended the last plan; null: none. */
  readonly failed: Move | null;
  /** The proposer's blocks in this turn; null: no proposer has acted. */
  readonly order: readonly number[] | null;
}

export function writeObservation(seat: "proposer" | "planner", { goal, on, failed, order }: Scene): string {
  const lines = [`goal ${writeTowers(goal)}`, `now ${writeTowers(on)}`];
  if (failed !== null) lines.push(`failed ${blockName(failed.block)} ${blockName(failed.to)}`);
  if (seat === "planner" && order !== null) lines.push(`proposer ${writeOrder(order) || "none"}`);
  return [...lines, cues[seat]].join("\n");
}

/** Each tower from the table up: the word before a block is what it is on, as in "table a b table c". */
function writeTowers(on: Towers): string {
  return listTowers(on)
    .map((tower) => ["table", ...tower.map(blockName)].join(" "))
    .join(" ");
}

export function writeOrder(blocks: readonly number[]): string {
  return blocks.map(blockName).join(" ");
}

export function writePlan(moves: readonly Move[]): string {
  return moves.map(({ block, to }) => `move ${blockName(block)} ${blockName(to)}`).join(" ");
}

/** All words that can occur, in a fixed order. */
export function notationWords(blocks: number): string[] {
  const names = Array.from({ length: blocks }, (_, block) => blockName(block));
  return ["goal", "now", "failed", "proposer", "none", ...Object.values(cues), "move", "table", ...names];
}

// Reads what a model wrote. Never throws, and reads a bounded part of a text.

/** Bound on what is read; no plan needs nearly as many. */
const mostItems = 256;
/** A block with an unknown name. */
export const nowhere = -2;

const move = /\bmove[^\w\n]+(\w+)[^\w\n]+(?:(?:on|onto|to)[^\w\n]+)?(\w+)/gi;
const onlyMoves = /^(?:\W*\bmove\W+[a-z]\W+(?:(?:on|onto|to)\W+)?(?:[a-z]|table)\b)*\W*$/i;
const block = /\b[a-z]\b/gi;
const onlyBlocks = /^\s*(?:[a-z]\b[\s,;]*)*$/i;

/** "move a b move c table", also as {"move": ["a", "b"]} or "move a to b". */
export function readMoves(text: string, blocks: number): ReadList<Move> {
  return firstOf(readLastLine(text, { item: move, only: onlyMoves, read: (match) => moveOf(match, blocks) }));
}

/** Every move of the text. */
export function allMoves(text: string, blocks: number): readonly Move[] {
  return Array.from(text.matchAll(move), (match) => moveOf(match, blocks)).slice(0, mostItems);
}

function moveOf([, name = "", to = ""]: RegExpExecArray, blocks: number): Move {
  return {
    block: blockNamed(name, blocks),
    to: to.toLowerCase() === "table" ? table : blockNamed(to, blocks),
  };
}

/** "c b a" */
export function readOrder(text: string, blocks: number): ReadList<number> {
  const read = ([name]: RegExpExecArray): number => blockNamed(name, blocks);
  return firstOf(readLastLine(text, { item: block, only: onlyBlocks, read }));
}

function firstOf<T>({ items, wellFormed }: ReadList<T>): ReadList<T> {
  return { items: items.slice(0, mostItems), wellFormed };
}

function blockNamed(name: string, blocks: number): number {
  const number = name.length === 1 ? name.toLowerCase().charCodeAt(0) - 97 : nowhere;
  return number >= 0 && number < blocks ? number : nowhere;
}

// Plans in the notation of PettingLLMs (AT-GRPO's code, `a054fb1`): [{"move": ["a", "b"]}, {"move": ["c", "table"]}],
// on one line or many, with or without the outer brackets.

const name = String.raw`["']?\w{1,40}["']?`;
const pair = String.raw`\[\s{0,20}${name}\s{0,20},\s{0,20}${name}\s{0,20}\]`;
const object = String.raw`\{\s{0,20}["']?move["']?\s{0,20}:\s{0,20}${pair}\s{0,20}\}`;
const list = new RegExp(
  String.raw`(?:\[\s{0,40})?${object}(?:[\s,]{0,40}${object})*(?:[\s,]{0,40}\])?`,
  "gi",
);

/** The last plan of the text, as a list or in our own notation. */
export function readPlan(text: string, blocks: number): ReadList<Move> {
  const found = lastList(text, list, (written) => allMoves(written.replaceAll(/\s+/g, " "), blocks));
  if (found === undefined || readMoves(found.after, blocks).wellFormed) return readMoves(text, blocks);
  return { items: found.list, wellFormed: found.ends };
}
