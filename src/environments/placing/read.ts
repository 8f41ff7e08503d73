/**
 * Reads what a model wrote in a game of placing: the placements with which the text ends. Total: it never throws, and
 * reads a bounded part of a text.
 */

export interface ReadPlacements {
  /** Numbers of placements, as `meaningOf` gives them; negative: none that can be carried out, and why is up to the game. */
  readonly items: readonly number[];
  /** The text ends with them, alone on their lines. Text on earlier lines does no harm. */
  readonly wellFormed: boolean;
}

/** A placement that is none: it names no place of the game. */
export const outside = -1;

/** The number of a placement; `label`: belongs to no placement and does no harm; undefined: another word. */
export type Meaning = number | "label" | undefined;

const longestText = 16_384;
const between = /[\s,;.*()[\]{}"'`|]+/;

/**
 * The last lines that hold placements and nothing else, if the text ends with such lines (an empty line ends them), or
 * else all placements of the last line that has any. `meaningOf` is asked for every word, in lower case.
 */
export function readPlacements(
  text: string,
  mostItems: number,
  meaningOf: (word: string) => Meaning,
): ReadPlacements {
  const lines = text.slice(-longestText).trimEnd().toLowerCase().split("\n");
  const trailing: Line[] = [];
  let last: Line | undefined;
  for (let index = lines.length - 1; index >= 0; index--) {
    const line = readLine(lines[index] ?? "", meaningOf);
    if (line.plain && line.items.length > 0 && trailing.length === lines.length - 1 - index) {
      trailing.unshift(line);
      continue;
    }
    if (trailing.length > 0) break;
    if (line.items.length > 0) {
      last = line;
      break;
    }
  }
  const items = trailing.length > 0 ? trailing.flatMap((line) => line.items) : (last?.items ?? []);
  return {
    items: items.slice(0, mostItems),
    wellFormed: trailing.length > 0 && text.length <= longestText && items.length <= mostItems,
  };
}

interface Line {
  readonly items: readonly number[];
  /** Nothing but placements and labels. */
  readonly plain: boolean;
}

function readLine(line: string, meaningOf: (word: string) => Meaning): Line {
  const items: number[] = [];
  let plain = true;
  for (const word of line.split(between)) {
    if (word === "") continue;
    const meaning = meaningOf(word);
    if (typeof meaning === "number") items.push(meaning);
    else if (meaning === undefined) plain = false;
  }
  return { items, plain };
}
