/**
 * The notation of grids and plans for a model: words separated by single spaces or line breaks, so that a word-level
 * tokenizer gives one token for each. All wording is in this file.
 *
 * A filled cell is one word, "b1=2". The open cells come after the filled ones: reading from left to right, a model has
 * seen every digit of a cell's row, column and box when it reaches the cell.
 */
import { type Meaning, outside, readPlacements, type ReadPlacements } from "../placing/read.ts";
import type { Seat } from "../planning/seats.ts";
import { type Layout, layoutOf } from "./grid.ts";

/** `entries`: "b1=2 d1=4"; `steps`: each cell before its entry, "b1 b1=2 d1 d1=4". */
export const planNotations = ["entries", "steps"] as const;
export type PlanNotation = (typeof planNotations)[number];

/** The last word of an observation names what to write: roles that share a policy can tell which one they are. */
const cues = { proposer: "propose", planner: "fill" } as const satisfies Record<Seat, string>;

/**
 * What an observation contains, besides the word for its seat. An entry is the number cell × (size + 1) + digit; digit
 * 0 clears the cell.
 */
export interface Scene {
  readonly size: number;
  /** As text, "." an open cell. */
  readonly clues: string;
  /** Clues and entries. */
  readonly grid: string;
  /** The entry that ended the last plan; null: none. */
  readonly refused: number | null;
  /** The proposer's entries in this turn; null: no proposer has acted. */
  readonly proposed: readonly number[] | null;
}

export function entryOf(size: number, cell: number, digit: number): number {
  return cell * (size + 1) + digit;
}

export function cellOf(size: number, entry: number): number {
  return Math.floor(entry / (size + 1));
}

export function digitOf(size: number, entry: number): number {
  return entry % (size + 1);
}

export function writeObservation(seat: Seat, scene: Scene): string {
  const { size, clues, grid, refused, proposed } = scene;
  const words = vocabularyOf(size).entries;
  const { names } = layoutOf(size);
  const filled: string[] = [];
  const open: string[] = [];
  for (let cell = 0; cell < grid.length; cell++) {
    if (grid[cell] === ".") open.push(names[cell] ?? "");
    else if (clues[cell] === ".") filled.push(words[entryOf(size, cell, Number(grid[cell]))] ?? "");
  }
  const lines = [clueLine(size, clues)];
  if (filled.length > 0) lines.push(`filled ${filled.join(" ")}`);
  if (refused !== null) lines.push(`refused ${words[refused]}`);
  if (seat === "planner" && proposed !== null)
    lines.push(`proposed ${writePlan("entries", size, proposed) || "none"}`);
  return [...lines, `open ${open.join(" ") || "none"}`, cues[seat]].join("\n");
}

/** Every observation of an episode repeats the clues, so they are cached. */
function clueLine(size: number, clues: string): string {
  const words = vocabularyOf(size).entries;
  const given = Array.from(clues, (digit, cell) =>
    digit === "." ? "" : words[entryOf(size, cell, Number(digit))],
  );
  return ["clues", ...given.filter((word) => word !== "")].join(" ");
}

export function writePlan(notation: PlanNotation, size: number, entries: readonly number[]): string {
  const words = vocabularyOf(size).entries;
  const { names } = layoutOf(size);
  const written = entries.map((entry) =>
    notation === "steps" ? `${names[cellOf(size, entry)]} ${words[entry]}` : words[entry],
  );
  return written.join(" ");
}

/** All words that can occur, in a fixed order. */
export function notationWords(size: number): string[] {
  const { names } = layoutOf(size);
  return ["clues", "filled", "refused", "proposed", "open", "none", ...Object.values(cues), ...names].concat(
    vocabularyOf(size).entries,
  );
}

/** Most entries read of a text: enough to fill and clear every cell. */
export function mostEntries(size: number): number {
  return 2 * size * size;
}

/** Accepts "b1=2", "b1 = 2", "b1: 2", "b1 2" and "(b1, 2)"; a cell alone is a label. */
export function readEntries(text: string, size: number): ReadPlacements {
  const { numbers } = vocabularyOf(size);
  const meaning = (word: string): Meaning => numbers.get(word) ?? shapeOf(word);
  return readPlacements(text.slice(-longestText).replaceAll(apart, "$1="), mostEntries(size), meaning);
}

/** Slightly more than is read of a text, so that a longer one is still known to be longer. */
const longestText = 17_000;
const apart = /\b([a-z]\d{1,2})(?:\s{0,3}[=:]\s{0,3}|[\s,]{1,3})(?=\d)/gi;
const entryShape = /^[a-z]\d{1,2}=\d{1,9}$/;

function shapeOf(word: string): Meaning {
  return entryShape.test(word) ? outside : undefined;
}

interface Vocabulary {
  /** By number: [size² × (size + 1)]. */
  readonly entries: readonly string[];
  /** The meaning of a word: an entry's number, or a cell, which is a label. */
  readonly numbers: ReadonlyMap<string, Meaning>;
}

const vocabularies = new Map<number, Vocabulary>();

function vocabularyOf(size: number): Vocabulary {
  const known = vocabularies.get(size);
  if (known !== undefined) return known;
  const made = makeVocabulary(layoutOf(size));
  vocabularies.set(size, made);
  return made;
}

function makeVocabulary({ size, names }: Layout): Vocabulary {
  const entries = names.flatMap((name) => Array.from({ length: size + 1 }, (_, digit) => `${name}=${digit}`));
  const numbers = new Map<string, Meaning>(entries.map((word, entry) => [word, entry]));
  for (const name of names) numbers.set(name, "label");
  return { entries, numbers };
}

/** Length in words of the longest plan a seat may need: every cell cleared and filled again. */
export function longestPlan(notation: PlanNotation, size: number): number {
  return (notation === "steps" ? 2 : 1) * mostEntries(size);
}
