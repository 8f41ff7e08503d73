/** Reads the pushes that a proposer wrote. Total: it never throws, and reads a bounded part of a text. */
import { cellsByName, moveWords } from "../grid/cells.ts";
import type { Push } from "./solver.ts";

export interface ReadPushes {
  readonly pushes: readonly Push[];
  /** The text ends with the pushes, alone on their line. Text on earlier lines does no harm. */
  readonly wellFormed: boolean;
}

/** Only the end of a longer text is read: the last line with a push is what counts. */
const longestText = 16_384;
const push = /\b([a-z][1-9]\d?)\s+(up|down|left|right)\b/gi;
/** Cells and directions in any number, each direction behind a cell. */
const onlyPushes = /^\s*(?:[a-z][1-9]\d?[\s,;]+(?:(?:up|down|left|right)[\s,;]+)?)*$/i;

export function readPushes(text: string, size: number): ReadPushes {
  const lines = text
    .slice(-longestText)
    .split("\n")
    .filter((line) => line.trim() !== "");
  const index = lines.findLastIndex((line) => line.search(push) >= 0);
  const line = lines[index];
  if (line === undefined) return { pushes: [], wellFormed: false };
  const ends = index === lines.length - 1 && text.length <= longestText;
  return { pushes: pushesIn(line, size), wellFormed: ends && onlyPushes.test(`${line} `) };
}

/** A box outside the room is one that is nowhere: -1. */
function pushesIn(line: string, size: number): Push[] {
  const cells = cellsByName(size);
  return Array.from(line.matchAll(push), ([, cell = "", word = ""]) => ({
    box: cells.get(cell.toLowerCase()) ?? -1,
    move: moveWords.indexOf(word.toLowerCase() as "up"),
  }));
}
