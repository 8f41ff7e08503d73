/** Reads what a model wrote: the items in the last line that has any. Total, and reads a bounded part of a text. */

export interface ReadList<T> {
  readonly items: readonly T[];
  /** The text ends with the items, alone on their line. Text on earlier lines does no harm. */
  readonly wellFormed: boolean;
}

/** Only the end of a longer text is read. */
const longestText = 16_384;

/** How an item is written, and a line that has items only. */
export interface ItemShape<T> {
  /** With the flag "g". */
  readonly item: RegExp;
  /** Tried on the line with a space behind it. */
  readonly only: RegExp;
  readonly read: (match: RegExpExecArray) => T;
}

export function readLastLine<T>(text: string, { item, only, read }: ItemShape<T>): ReadList<T> {
  const lines = text
    .slice(-longestText)
    .split("\n")
    .filter((line) => line.trim() !== "");
  const index = lines.findLastIndex((line) => line.search(item) >= 0);
  const line = lines[index];
  if (line === undefined) return { items: [], wellFormed: false };
  const ends = index === lines.length - 1 && text.length <= longestText;
  return { items: Array.from(line.matchAll(item), read), wellFormed: ends && only.test(`${line} `) };
}
