/**
 * Reads the last list of moves, or of cells, in what a model wrote. Lenient in case, punctuation, brackets, numbering,
 * arrows, letters ("U D L R", "RRD") and surrounding text. Never throws, and reads a bounded part of a text.
 */
import { cellNames, cellsByName, memoised } from "./cells.ts";

export interface ReadList {
  /** Moves 0 to 3, or cells; -1 is a cell outside the board. */
  readonly items: readonly number[];
  /** The text ends with the list, alone on its line, in plain words. Earlier lines are ignored. */
  readonly wellFormed: boolean;
}

/** Only the end of a longer text is read. */
const longestText = 16_384;

/** The kind of a word. `label` and `filler` are not items and do not end a list; a filler makes it ill-formed. */
type Meaning = Items | "label" | "filler" | "other";

interface Items {
  readonly items: readonly number[];
  readonly arrow: boolean;
}

export function readMoves(text: string, size: number, cellsBelong: boolean): ReadList {
  const cells = cellsByName(size);
  const cellMeaning = cellsBelong ? "label" : "filler";
  const meaning = (word: string): Meaning =>
    moveMeanings.get(word) ?? (cells.has(word) ? cellMeaning : commonMeaning(word));
  return readLastList(text, 4 * size * size, (raw) =>
    compactMoves.test(raw) ? { items: spelledMoves(raw), arrow: false } : meaning(raw.toLowerCase()),
  );
}

export function readCells(text: string, size: number): ReadList {
  const cells = cellMeanings(size);
  return readLastList(text, 4 * size * size, (raw) => {
    const word = raw.toLowerCase();
    const cell = cells.get(word);
    if (cell !== undefined) return cell;
    if (cellShape.test(word)) return outside;
    const move = moveMeanings.get(word);
    return typeof move === "object" && move.arrow ? "label" : commonMeaning(word);
  });
}

const cellMeanings = memoised(
  (size) =>
    new Map(cellNames(size).map((name, cell): [string, Items] => [name, { items: [cell], arrow: false }])),
);

const outside: Items = { items: [-1], arrow: false };
const cellShape = /^[a-z][1-9]\d?$/;
const compactMoves = /^[UDLR]{2,}$/;

const moveMeanings = new Map<string, Meaning>(
  ["up u north ↑ ⇑ ⬆", "down d south ↓ ⇓ ⬇", "left l west ← ⇐ ⬅", "right r east → ⇒ ➡"].flatMap(
    (words, move) =>
      words.split(" ").map((word, index): [string, Meaning] => [word, { items: [move], arrow: index > 2 }]),
  ),
);

function spelledMoves(letters: string): number[] {
  return Array.from(letters, (letter) => "UDLR".indexOf(letter));
}

const labels = new Set("route moves plan path answer actions list scout planner".split(" "));
const fillers = new Set("move go step steps then and to".split(" "));

function commonMeaning(word: string): Meaning {
  if (labels.has(word)) return "label";
  return fillers.has(word) || /^\d+$/.test(word) ? "filler" : "other";
}

/** Words, arrows, closing brackets, empty lines, line ends; everything else separates. */
const tokens = /[\p{L}\p{N}_]+(?:['’][\p{L}\p{N}_]+)*|[←↑→↓⇐⇑⇒⇓⬅⬆⬇➡]|[\])}]|\n[^\S\n]*\n|\n/gu;

interface List {
  readonly words: number[];
  readonly arrows: number[];
  readonly startsLine: boolean;
  plain: boolean;
  /** Words read up to the list's last item, not counting labels. */
  end: number;
}

/**
 * The last list of the text: the one that ends the text, else the last with two items or more, else the last. (In "down
 * down. I hope that is right" the list is "down down".)
 */
function readLastList(text: string, mostItems: number, meaningOf: (word: string) => Meaning): ReadList {
  let list: List | undefined;
  let last: List | undefined;
  let lastLong: List | undefined;
  let read = 0;
  let atLineStart = true;
  // matchAll would make an array for each word.
  for (const token of text.slice(-longestText).match(tokens) ?? []) {
    if (token.startsWith("\n")) atLineStart = true;
    if (token === "\n") continue;
    const meaning = boundary.test(token) ? "boundary" : meaningOf(token);
    if (meaning !== "boundary" && meaning !== "label") read++;
    if (typeof meaning === "object") {
      list ??= { words: [], arrows: [], startsLine: atLineStart, plain: true, end: 0 };
      addItems(list, meaning, mostItems, read);
      last = list;
      if (itemsOf(list).length > 1) lastLong = list;
    } else if (meaning === "filler" && list !== undefined) list.plain = false;
    else if (meaning === "other" || meaning === "boundary") list = undefined;
    if (meaning !== "label" && meaning !== "boundary") atLineStart = false;
  }
  if (last === undefined) return { items: [], wellFormed: false };
  const ends = last.startsLine && last.plain && last.end === read;
  const chosen = ends ? last : (lastLong ?? last);
  return { items: itemsOf(chosen), wellFormed: ends && text.length <= longestText };
}

const boundary = /^[\])}\n]/;

function addItems(list: List, meaning: Items, mostItems: number, read: number): void {
  const kind = meaning.arrow ? list.arrows : list.words;
  for (const item of meaning.items) if (kind.length < mostItems) kind.push(item);
  list.end = read;
}

/** Arrows between words only separate them ("right → down"); otherwise they are moves. */
function itemsOf(list: List): readonly number[] {
  return list.words.length > 0 ? list.words : list.arrows;
}
