/**
 * The notation of lakes, walks and messages for a model: words separated by single spaces or line breaks, so that a
 * word-level tokenizer gives one token for each. All wording is in this file.
 */
import { type Board, isFree } from "../grid/board.ts";
import { cellNames, cellsByName } from "../grid/cells.ts";

/** Written for an empty list. */
export const none = "none";
/** The last word of an observation: separates what is shown from what is written. */
const cue = "cross";
/** Words of a message besides names of cells. */
const sayable = ["thin", "from", "to", "at"];

export function writeObservation(lines: readonly string[]): string {
  return [...lines, cue].join("\n");
}

/** `thin a2 c3` */
export function writeThin(ice: Board): string {
  const names = cellNames(ice.size).filter((_, cell) => !isFree(ice, cell));
  return writeWords("thin", names);
}

/** `from a1 to d3`: the walker's start and goal; `at b1 to d3`: its cell and goal */
export function writeEnds(label: "from" | "at", cell: number, ice: Board): string {
  const names = cellNames(ice.size);
  return `${label} ${names[cell]} to ${names[ice.goal]}`;
}

export function writeWords(label: string, words: readonly string[]): string {
  return `${label} ${words.join(" ") || none}`;
}

/** `walk b1 c1 say d2 d3`: each label with its cells. */
export function writeAction(size: number, lists: Readonly<Record<string, readonly number[]>>): string {
  const names = cellNames(size);
  const written = Object.entries(lists).map(([label, cells]) =>
    writeWords(
      label,
      cells.map((cell) => names[cell] ?? none),
    ),
  );
  return written.join(" ");
}

export function isSayable(size: number, word: string): boolean {
  return sayable.includes(word) || cellsByName(size).has(word);
}

/** All words that can occur, in a fixed order. */
export function notationWords(size: number): string[] {
  return [...sayable, none, "said", "heard", "walk", "say", "red", "blue", cue, ...cellNames(size)];
}

// Reads lists of words after labels, `walk b1 c1 say d2`, in what a model wrote. Lenient in case, punctuation and
// surrounding text. Never throws, and reads a bounded part of a text.

/** Words that may follow a label. */
export interface ListShape {
  readonly label: string;
  readonly isWord: (word: string) => boolean;
  /** Most words read of a list. */
  readonly most: number;
}

export interface ReadLists {
  /** The words after each label that was found. */
  readonly lists: Readonly<Record<string, readonly string[]>>;
  /** The text ends with the labels in order, each with its list or `none`, and nothing else on the line. */
  readonly wellFormed: boolean;
}

/** Only the end of a longer text is read. */
const longestText = 4096;
const wordPattern = /[\p{L}\p{N}_]+/gu;

export function readLists(text: string, shapes: readonly ListShape[]): ReadLists {
  const end = lastAnswer(text.slice(-longestText).toLowerCase(), shapes);
  const lists = new Map<string, string[]>();
  let open: ListShape | undefined;
  for (const word of wordsOf(end)) {
    const labelled = shapes.find(({ label }) => label === word);
    const list = lists.get(open?.label ?? "");
    if (labelled !== undefined) lists.set((open = labelled).label, []);
    else if (open?.isWord(word) === true && list !== undefined && list.length < open.most) list.push(word);
  }
  const written = shapes.map(({ label }) => `${label} ${lists.get(label)?.join(" ") || none}`).join(" ");
  const plain = end.replaceAll(/[\s,;]+/g, " ").trim();
  return {
    lists: Object.fromEntries(lists),
    wellFormed: plain === written && text.length <= longestText,
  };
}

/** From the last line with the first label on, or else with any label. */
function lastAnswer(text: string, shapes: readonly ListShape[]): string {
  const lines = text.split("\n");
  const lastWith = (labels: readonly string[]): number =>
    lines.findLastIndex((line) => wordsOf(line).some((word) => labels.includes(word)));
  const labels = shapes.map(({ label }) => label);
  const first = lastWith(labels.slice(0, 1));
  return lines.slice(first < 0 ? Math.max(0, lastWith(labels)) : first).join("\n");
}

function wordsOf(text: string): string[] {
  return Array.from(text.matchAll(wordPattern), ([word]) => word);
}
