/** Reads what a model wrote. Total: it never throws, and reads a bounded part of a text. */
import { type Move, table } from "./tower.ts";

export interface ReadList<T> {
  readonly items: readonly T[];
  /** The text ends with the items, alone on their line. Text on earlier lines does no harm. */
  readonly wellFormed: boolean;
}

/** Only the end of a longer text is read: the last line with an item is what counts. */
const longestText = 16_384;
/** More are not read: no plan needs nearly as many. */
const mostItems = 256;
/** A block of a name that no block has. */
export const nowhere = -2;

const move = /\bmove[^\w\n]+(\w+)[^\w\n]+(?:(?:on|onto|to)[^\w\n]+)?(\w+)/gi;
const onlyMoves = /^(?:\W*\bmove\W+[a-z]\W+(?:(?:on|onto|to)\W+)?(?:[a-z]|table)\b)*\W*$/i;
const block = /\b[a-z]\b/gi;
const onlyBlocks = /^\s*(?:[a-z]\b[\s,;]*)*$/i;

/** "move a b move c table", also as {"move": ["a", "b"]} or "move a to b". */
export function readMoves(text: string, blocks: number): ReadList<Move> {
  return readLastLine(text, move, onlyMoves, ([, name = "", to = ""]) => ({
    block: blockNamed(name, blocks),
    to: to.toLowerCase() === "table" ? table : blockNamed(to, blocks),
  }));
}

/** "c b a" */
export function readOrder(text: string, blocks: number): ReadList<number> {
  return readLastLine(text, block, onlyBlocks, ([name]) => blockNamed(name, blocks));
}

function readLastLine<T>(
  text: string,
  item: RegExp,
  only: RegExp,
  read: (match: RegExpExecArray) => T,
): ReadList<T> {
  const lines = text
    .slice(-longestText)
    .split("\n")
    .filter((line) => line.trim() !== "");
  const index = lines.findLastIndex((line) => line.search(item) >= 0);
  const line = lines[index];
  if (line === undefined) return { items: [], wellFormed: false };
  const ends = index === lines.length - 1 && text.length <= longestText;
  return {
    items: [...line.matchAll(item)].slice(0, mostItems).map(read),
    wellFormed: ends && only.test(line),
  };
}

function blockNamed(name: string, blocks: number): number {
  const number = name.length === 1 ? name.toLowerCase().charCodeAt(0) - 97 : nowhere;
  return number >= 0 && number < blocks ? number : nowhere;
}
