/** Brackets in LaTeX: finding their ends, and splitting outside them. */

const closing: Readonly<Record<string, string>> = { "{": "}", "(": ")", "[": "]" };
const opening = new Set(Object.keys(closing));
const ends = new Set(Object.values(closing));

/** The index after the brace that closes the one at `start`; −1: it is not closed. Escaped braces do not count. */
export function endOfBraces(text: string, start: number): number {
  let depth = 0;
  for (let index = start; index < text.length; index++) {
    const character = text[index];
    if (character === "\\") index++;
    else if (character === "{") depth++;
    else if (character === "}" && --depth === 0) return index + 1;
  }
  return -1;
}

/** The parts between separators outside all brackets; intervals may mix `(` and `]`. Also splits at escaped braces. */
export function splitOutside(text: string, separator: RegExp): string[] {
  const pattern = new RegExp(separator.source, "y");
  const parts: string[] = [];
  let depth = 0;
  let start = 0;
  for (let index = 0; index < text.length; index++) {
    pattern.lastIndex = index;
    const found = depth === 0 ? pattern.exec(text)?.[0] : undefined;
    if (found !== undefined && found !== "") {
      parts.push(text.slice(start, index));
      start = index + found.length;
      index = start - 1;
      continue;
    }
    const at = text[index] === "\\" && "{}".includes(text[index + 1] ?? " ") ? ++index : index;
    depth = Math.max(0, depth + (angleAt(text, at) ?? stepOf(text[at] ?? "")));
  }
  return [...parts, text.slice(start)];
}

/** Of `\langle` and `\rangle`. */
function angleAt(text: string, index: number): number | null {
  if (text.startsWith("\\langle", index)) return 1;
  return text.startsWith("\\rangle", index) ? -1 : null;
}

function stepOf(character: string): number {
  if (opening.has(character)) return 1;
  return ends.has(character) ? -1 : 0;
}

export interface Bracketed {
  readonly left: string;
  readonly inside: string;
  readonly right: string;
}

/** The text without the brackets around all of it; null: there are none. Braces are `\{` and `\}`. */
export function bracketed(text: string): Bracketed | null {
  const found = /^(\\\{|\\langle|[([])([^]*?)(\\\}|\\rangle|[)\]])$/.exec(text);
  const [, left = "", inside = "", right = ""] = found ?? [];
  if (found === null || (left === "\\{") !== (right === "\\}")) return null;
  return staysInside(inside) ? { left, inside, right } : null;
}

/** `(a)(b)` begins and ends with brackets of different pairs. */
function staysInside(inside: string): boolean {
  let depth = 0;
  for (let index = 0; index < inside.length; index++) {
    if (inside[index] === "\\" && !"{}".includes(inside[index + 1] ?? " ")) continue;
    depth += stepOf(inside[index] ?? "");
    if (depth < 0) return false;
  }
  return depth === 0;
}

/** Full-width forms, styled letters and digits, Roman and circled numbers. */
const forms = /[\uFF01-\uFF5E\uFE63\u2160-\u217F\u2460-\u2473\u{1D400}-\u{1D7FF}]/gu;
const invisible = /[\p{Cf}\uFE00-\uFE0F]/gu;
const otherDigits = /(?![0-9])\p{Nd}/gu;

const marks: Readonly<Record<string, string>> = {
  "٫": ".",
  "٬": ",",
  "،": ",",
  "؛": ";",
  "٪": "%",
  "、": ",",
  "。": ".",
  "∶": ":",
  "⁄": "/",
};
const otherMarks = new RegExp(`[${Object.keys(marks).join("")}]`, "gu");

export function plainCharacters(text: string): string {
  return text
    .replace(invisible, "")
    .replace(forms, (found) => found.normalize("NFKC"))
    .replace(otherDigits, digitOf)
    .replace(otherMarks, (found) => marks[found] ?? found);
}

/** Digits of a script follow each other from zero, and so do scripts. */
function digitOf(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  let first = code;
  while (/\p{Nd}/u.test(String.fromCodePoint(first - 1))) first--;
  return String((code - first) % 10);
}

/** Larger ones have more terms than can be compared quickly. */
const largest = 4;

/** Null: it is not square, or too large. Of one cell, the bars may be those of an absolute value. */
export function determinantOf(rows: readonly (readonly string[])[]): string | null {
  const isSquare = rows.every((row) => row.length === rows.length);
  return isSquare && rows.length > 1 && rows.length <= largest ? expanded(rows) : null;
}

/** Along the first row. */
function expanded([first = [], ...others]: readonly (readonly string[])[]): string {
  if (others.length === 0) return `(${first[0] ?? "0"})`;
  const terms = first.map((cell, column) => {
    const minor = others.map((row) => row.filter((_, at) => at !== column));
    return `${column % 2 === 0 ? "+" : "-"}(${cell})\\cdot ${expanded(minor)}`;
  });
  return `(0${terms.join("")})`;
}
