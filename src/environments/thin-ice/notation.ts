/**
 * How lakes, walks and messages are written for a model: words with single spaces or line ends between them, so that a
 * word-level tokenizer gives one token for each. Everything about the wording is in this file.
 */
import { type Board, isFree } from "../grid/board.ts";
import { cellNames, cellsByName } from "../grid/cells.ts";

/** Stands for an empty list. */
export const none = "none";
/** The last word of an observation: what is shown ends here, what is written begins. */
const cue = "cross";
/** What a message may consist of besides names of cells. */
const sayable = ["thin", "from", "to", "at"];

export function writeObservation(lines: readonly string[]): string {
  return [...lines, cue].join("\n");
}

/** `thin a2 c3` */
export function writeThin(ice: Board): string {
  const names = cellNames(ice.size).filter((_, cell) => !isFree(ice, cell));
  return writeWords("thin", names);
}

/** `from a1 to d3` where the walker began, `at b1 to d3` where it stands */
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

/** Every word that can occur, in a fixed order. */
export function notationWords(size: number): string[] {
  return [...sayable, none, "said", "heard", "walk", "say", "red", "blue", cue, ...cellNames(size)];
}
