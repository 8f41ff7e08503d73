/**
 * The notation of boards and plans for a model: words separated by single spaces or line breaks, so that a word-level
 * tokenizer gives one token for each. All wording is in this file.
 *
 * "c4" is a queen in column c of row 4, "r4" is row 4, and "x4" removes its queen.
 */
import { type Meaning, outside, readPlacements, type ReadPlacements } from "../placing/read.ts";
import type { Seat } from "../planning/seats.ts";

// Boards with one queen per row. A board is text with one character per row from the top: the letter of the queen's
// column, or "." for none. A placement is the number row × (size + 1) + column + 1; column 0 in that number removes the
// row's queen.

export const emptyRow = ".";
const letterA = "a".charCodeAt(0);

export function letterOf(column: number): string {
  return String.fromCharCode(letterA + column);
}

/** The column of each row's queen, from 0; -1 for none. */
export function columnsOf(board: string): number[] {
  return Array.from(board, (mark) => (mark === emptyRow ? -1 : mark.charCodeAt(0) - letterA));
}

export function boardOf(columns: readonly number[]): string {
  return columns.map((column) => (column < 0 ? emptyRow : letterOf(column))).join("");
}

/** @param column -1 removes the queen */
export function placementOf(size: number, row: number, column: number): number {
  return row * (size + 1) + column + 1;
}

export function rowOf(size: number, placement: number): number {
  return Math.floor(placement / (size + 1));
}

/** -1: the row's queen is removed. */
export function columnOf(size: number, placement: number): number {
  return (placement % (size + 1)) - 1;
}

/** The rows of the queens in other rows that attack the square. */
export function attackers(columns: readonly number[], row: number, column: number): number[] {
  const rows: number[] = [];
  for (let other = 0; other < columns.length; other++) {
    const at = columns[other] ?? -1;
    if (at < 0 || other === row) continue;
    if (at === column || Math.abs(at - column) === Math.abs(other - row)) rows.push(other);
  }
  return rows;
}

/** Columns are named by letters; r and x are taken. */
export const largestSize = 10;

/** `queens`: "c4 a5"; `steps`: each row before its queen, "r4 c4 r5 a5". */
export const planNotations = ["queens", "steps"] as const;
export type PlanNotation = (typeof planNotations)[number];

/** The last word of an observation names what to write: roles that share a policy can tell which one they are. */
const cues = { proposer: "propose", planner: "place" } as const satisfies Record<Seat, string>;

/** What an observation contains, besides the word for its seat. Boards are text, placements numbers (`board.ts`). */
export interface Scene {
  readonly given: string;
  readonly grid: string;
  readonly refused: number | null;
  readonly proposed: readonly number[] | null;
}

export function writeObservation(seat: Seat, { given, grid, refused, proposed }: Scene): string {
  const size = given.length;
  const own = Array.from(grid, (mark, row) => (given[row] === "." ? mark : ".")).join("");
  const open = Array.from(grid, (mark, row) => (mark === "." ? rowName(row) : "")).filter(
    (row) => row !== "",
  );
  const lines = [`queens ${queensOn(given) || "none"}`];
  if (queensOn(own) !== "") lines.push(`placed ${queensOn(own)}`);
  if (refused !== null) lines.push(`refused ${wordOf(size, refused)}`);
  if (seat === "planner" && proposed !== null)
    lines.push(`proposed ${writePlan("queens", size, proposed) || "none"}`);
  return [...lines, `open ${open.join(" ") || "none"}`, cues[seat]].join("\n");
}

export function writePlan(notation: PlanNotation, size: number, placements: readonly number[]): string {
  const words = placements.map((placement) => {
    const word = wordOf(size, placement);
    return notation === "steps" ? `${rowName(rowOf(size, placement))} ${word}` : word;
  });
  return words.join(" ");
}

/** All words that can occur, in a fixed order. */
export function notationWords(size: number): string[] {
  const rows = Array.from({ length: size }, (_, row) => rowName(row));
  const marks = ["queens", "placed", "refused", "proposed", "open", "none", ...Object.values(cues)];
  return [...marks, ...rows, ...vocabularyOf(size).words];
}

/** Most placements read of a text: enough to remove every queen and place it again. */
function mostPlacements(size: number): number {
  return 2 * size;
}

/** Length in words of the longest plan a seat may need. */
export function longestPlan(notation: PlanNotation, size: number): number {
  return (notation === "steps" ? 2 : 1) * mostPlacements(size);
}

/** Accepts "c4 a5", also "C4, A5". */
export function readQueens(text: string, size: number): ReadPlacements {
  const { numbers } = vocabularyOf(size);
  const meaning = (word: string): Meaning => numbers.get(word) ?? (square.test(word) ? outside : undefined);
  return readPlacements(text, mostPlacements(size), meaning);
}

const square = /^[a-z]\d{1,9}$/;

function queensOn(board: string): string {
  const size = board.length;
  const words = columnsOf(board).map((column, row) =>
    column < 0 ? "" : wordOf(size, placementOf(size, row, column)),
  );
  return words.filter((word) => word !== "").join(" ");
}

function rowName(row: number): string {
  return `r${row + 1}`;
}

function wordOf(size: number, placement: number): string {
  return vocabularyOf(size).words[placement] ?? "";
}

interface Vocabulary {
  /** By number: [size × (size + 1)]. */
  readonly words: readonly string[];
  /** The meaning of a word: a placement's number, or a row, which is a label. */
  readonly numbers: ReadonlyMap<string, Meaning>;
}

const vocabularies = new Map<number, Vocabulary>();

function vocabularyOf(size: number): Vocabulary {
  const known = vocabularies.get(size);
  if (known !== undefined) return known;
  const rows = Array.from({ length: size }, (_, row) => row);
  const words = rows.flatMap((row) =>
    [-1, ...rows].map((column) => `${column < 0 ? "x" : letterOf(column)}${row + 1}`),
  );
  const numbers = new Map<string, Meaning>(words.map((word, placement) => [word, placement]));
  for (const row of rows) numbers.set(rowName(row), "label");
  const made = { words, numbers };
  vocabularies.set(size, made);
  return made;
}
