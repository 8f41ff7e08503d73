/** Finds the final answer in what a model wrote. */
import { plainCharacters, endOfBraces } from "./groups.ts";

/** How it was written. */
export type AnswerSource = "boxed" | "phrase" | "number";

export interface ExtractedAnswer {
  readonly text: string;
  readonly source: AnswerSource;
}

/** A longer text does not count as an answer; comparing it would take too long. */
export const longestAnswer = 2000;
/** Phrases and numbers count at the end only. */
const tailLength = 4000;

/** The last complete box; otherwise after the last phrase such as "the answer is"; otherwise the last number. */
export function extractAnswer(text: string): ExtractedAnswer | null {
  const boxed = lastBoxed(text);
  if (boxed !== null) return { text: boxed, source: "boxed" };
  const tail = plainCharacters(text.slice(-tailLength)).replace(denied, "");
  const phrase = afterPhrase(tail);
  if (phrase !== null) return { text: phrase, source: "phrase" };
  const number = lastNumber(tail);
  return number === null ? null : { text: number, source: "number" };
}

const boxes = ["\\boxed", "\\fbox"];
/** Boxes tried from the end: unclosed ones cost a scan each. */
const mostBoxes = 16;

function lastBoxed(text: string): string | null {
  let before = text.length;
  for (let tried = 0; tried < mostBoxes && before > 0; tried++) {
    const start = Math.max(...boxes.map((box) => text.lastIndexOf(box, before - 1)));
    if (start < 0) return null;
    const content = contentAt(text, start);
    if (content !== null) return content;
    before = start;
  }
  return null;
}

/** `\boxed{5}`, `\boxed 5`. */
function contentAt(text: string, start: number): string | null {
  const window = text.slice(start, start + longestAnswer + 16).replace(/^\\[a-z]+\s*/, "");
  if (!window.startsWith("{")) return /^[\w.+-]+/.exec(window)?.[0] ?? null;
  const end = endOfBraces(window, 0);
  const inside = end < 0 ? "" : window.slice(1, end - 1).trim();
  return inside === "" ? null : inside;
}

const phrase =
  /(?:final\s+answer|answer|result|solution)\b(?:\s+(?:to\s+the\s+problem|here))?\s*(?:\*\*)?\s*(?:is|are|=|:)\s*(?:\*\*)?\s*:?|####/gi;

/** What says nothing about the answer: "is therefore 12", "is, thus, equal to 12". */
const filler =
  /^[\s,:]*(?:(?:therefore|thus|then|hence|so|simply|just|exactly|precisely|indeed|clearly|obviously|now|actually|equal to|given by|approximately|about)(?![\w-])[\s,:]*)+/i;
/** Before a number or a formula: words may be the answer, as in "is not possible". */
const value = String.raw`\s+(?=[^a-z\s]|[b-z]\b)`;
/** What follows it is not the answer. */
const reason = new RegExp(
  String.raw`,\s+(?:as|since|because|which|where)\s|[\s,(]+(?:(?:and|but)\s+)?(?:not|rather than|instead of)${value}`,
  "i",
);
/** What is said not to be the answer: "is not 5", up to the end of the clause. */
const denied = new RegExp(
  String.raw`(?:\b(?:is|are)(?:\s+not|n['’]t)|\b(?:can\s*not|can['’]t|must\s+not|could\s+not)\s+be|\bnever)${value}` +
    String.raw`[^;\n]*?(?=,(?!\d)|[;\n]|\.(?:\s|$)|\s+but\s|$)`,
  "gi",
);

function afterPhrase(tail: string): string | null {
  const last = [...tail.matchAll(phrase)].at(-1);
  if (last === undefined) return null;
  const rest = tail
    .slice(last.index + last[0].length)
    .trim()
    .replace(filler, "");
  const [line = ""] = rest.split("\n");
  const found =
    inMath(line) ??
    line
      .split(/\.(?=\s|$)|\*\*/)[0]
      ?.split(reason)[0]
      ?.trim() ??
    "";
  return found === "" ? null : found.slice(0, longestAnswer);
}

/** The formulas that the line begins with: `$3$`, `$1$ and $2$`. */
function inMath(line: string): string | null {
  const found = /^(?:\$[^$]+\$(?:\s*(?:,|and|or)\s*(?=\$))?)+|^\\\((.+?)\\\)|^\\\[(.+?)\\\]/.exec(line);
  return found === null ? null : (found[1] ?? found[2] ?? found[0]);
}

const number =
  /-?(?:\d+\s+(?=\d+\/))?(?:\d{1,3}(?:,\d{3})+|\d+)?(?:\.\d+|\d)(?:[eE][+-]?\d+)?(?:\s*\/\s*\d+)?%?/g;
/** Before a part of a formula, such as an exponent; a bold number is a whole one. */
const inFormula = /(?:[\^_]|sqrt\s*\(?|(?<!\\(?:text|math)\w*)\{)\s*$/;

function lastNumber(tail: string): string | null {
  const found = [...tail.matchAll(number)].at(-1);
  if (found === undefined || inFormula.test(tail.slice(0, found.index))) return null;
  return found[0].slice(0, longestAnswer);
}
