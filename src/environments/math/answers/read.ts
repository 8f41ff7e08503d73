/** What an answer is: a number, words, a choice, a list, an interval, a matrix, a relation, or an expression. */
import { bracketed, splitOutside } from "./groups.ts";
import { endOfRow } from "./normalise.ts";
import { readRational, type Rational } from "./rational.ts";

export type Answer =
  | { readonly kind: "number"; readonly value: Rational; readonly latex: string }
  /** In lower case. */
  | { readonly kind: "words"; readonly text: string }
  | { readonly kind: "choice"; readonly letter: string }
  /** A number in a base. */
  | { readonly kind: "based"; readonly digits: string; readonly base: string }
  /** `{1, 2}`, or `1, 2`: the order does not count. */
  | { readonly kind: "set"; readonly items: readonly Answer[] }
  | {
      readonly kind: "tuple";
      readonly left: string;
      readonly items: readonly Answer[];
      readonly right: string;
    }
  | { readonly kind: "union"; readonly parts: readonly Answer[] }
  | { readonly kind: "matrix"; readonly rows: readonly (readonly Answer[])[] }
  /** `x = 5`, `f(x) = 2x`: a name for what follows. */
  | {
      readonly kind: "named";
      readonly name: string;
      /** `x` of f(x). */
      readonly argument: string | null;
      readonly value: Answer;
      readonly text: string;
    }
  | { readonly kind: "equation"; readonly left: string; readonly right: string }
  | { readonly kind: "expression"; readonly latex: string };

/** What it may be: `1,234` is a number or two. The first is the likeliest. */
export function readings(text: string): readonly Answer[] {
  const likeliest = read(text, 0);
  const isGrouped = likeliest.kind === "number" && /^-?\d{1,3}(?:, ?\d{3})+$/.test(text);
  return isGrouped ? [likeliest, listOf(text, 0)] : [likeliest];
}

const deepest = 6;

type Reader = (text: string, depth: number) => Answer | null;

/** In order; the first that recognises the text counts. */
const readers: readonly Reader[] = [
  readNumber,
  readSeveral,
  readChoice,
  readBased,
  readMatrix,
  readUnion,
  readList,
  readMembership,
  readEquation,
  readInequality,
  readBracketed,
  readPlusMinus,
  readWords,
];

function read(given: string, depth: number): Answer {
  const text = given.trim();
  if (depth > deepest) return { kind: "expression", latex: text };
  for (const reader of readers) {
    const found = reader(text, depth);
    if (found !== null) return found;
  }
  return { kind: "expression", latex: text };
}

function readNumber(text: string): Answer | null {
  const value = readRational(text);
  return value === null ? null : { kind: "number", value, latex: text };
}

/** `2 3` is neither 23 nor 6: equal only to itself. */
function readSeveral(text: string): Answer | null {
  return /^[+-]?\d[\d.]*(?: \d[\d./]*)+$/.test(text) ? { kind: "words", text } : null;
}

/** `(C)`, `C.`, `(C) 42`. A letter alone may be a variable; it is compared as a choice with a choice. */
function readChoice(text: string): Answer | null {
  const found = /^\(([A-Z])\)(?:\s.*)?$|^([A-Z])[.):](?:\s.*)?$/.exec(text);
  const letter = found?.[1] ?? found?.[2];
  return letter === undefined ? null : { kind: "choice", letter };
}

function readBased(text: string): Answer | null {
  const [, digits, base] = /^([\dA-F]+)_\{(\d+)\}$/.exec(text.replaceAll(" ", "")) ?? [];
  return digits === undefined || base === undefined ? null : { kind: "based", digits, base };
}

const matrix = /^\\begin\{([pbvB]?matrix|array)\}(?:\{[lcr|]*\})?([^]*)\\end\{\1\}$/;

function readMatrix(text: string, depth: number): Answer | null {
  const body = matrix.exec(text.replace(/^[([]\s*(?=\\begin)|(?<=\\end\{\w+\})\s*[)\]]$/g, ""))?.[2];
  if (body === undefined) return null;
  const rows = body.split(endOfRow).filter((row) => row.trim() !== "");
  return { kind: "matrix", rows: rows.map((row) => row.split("&").map((cell) => read(cell, depth + 1))) };
}

function readUnion(text: string, depth: number): Answer | null {
  const parts = splitOutside(text, /\\cup(?![a-zA-Z])/);
  return parts.length < 2 ? null : { kind: "union", parts: parts.map((part) => read(part, depth + 1)) };
}

function readList(text: string, depth: number): Answer | null {
  return splitOutside(text, /[,;]/).length < 2 ? null : listOf(text, depth);
}

function listOf(text: string, depth: number): Answer {
  const parts = splitOutside(text, /[,;]/).filter((part) => part.trim() !== "");
  return { kind: "set", items: parts.map((part) => read(part, depth + 1)).flatMap(spread) };
}

/** 1 ± √2 among others is two of them. */
function spread(item: Answer): readonly Answer[] {
  return item.kind === "set" ? item.items : [item];
}

const name = String.raw`(?:\\[a-zA-Z]+|[a-zA-Z])(?:_\{?[\w\\]*\s*\}?)?'?(?:\s*\([a-zA-Z, ]*\))?`;
const named = new RegExp(
  String.raw`^(${name}|\\angle [A-Z_{}\d ]+|[A-Z]{2,3}|\([a-zA-Z](?:, ?[a-zA-Z])+\))\s*:?=([^]*)$`,
);
const member = new RegExp(String.raw`^(${name})\s*\\in(?![a-zA-Z])([^]*)$`);

function readMembership(text: string, depth: number): Answer | null {
  const [, , set] = member.exec(text) ?? [];
  return set === undefined ? null : read(set, depth + 1);
}

/** With several signs, `x = 2 + 3 = 5`, the last side counts. */
function readEquation(text: string, depth: number): Answer | null {
  const sides = splitOutside(text, /=/).map((side) => side.trim());
  const [left = "", right = ""] = [sides[0], sides.at(-1)];
  if (sides.length < 2 || right === "" || /\\(?:le|ge|ne)(?![a-zA-Z])|[<>]/.test(text)) return null;
  const found = named.exec(`${left}=${right}`);
  if (found !== null) {
    const argument = /\(\s*([a-zA-Z])\s*\)$/.exec(left)?.[1] ?? null;
    return { kind: "named", name: nameOf(left), argument, value: read(right, depth + 1), text: right };
  }
  const words = /^[a-zA-Z][a-z]+(?: [a-zA-Z]+)*:?$/.test(left) && !/[+\-*/^]/.test(left);
  return words ? read(right, depth + 1) : { kind: "equation", left, right };
}

/** Functions are named after their letter: f(x) = x and f(n) = n have the same name. */
function nameOf(left: string): string {
  return left.replace(/\s*\(.*/, "()").replaceAll(/[\s{}]/g, "");
}

const sign = /\\(?:le|ge)(?![a-zA-Z])|[<>]/;

/** `x \ge 2` and `2 < x \le 5` as intervals. */
function readInequality(text: string, depth: number): Answer | null {
  const signs = text.match(new RegExp(sign, "g")) ?? [];
  const sides = text.split(sign).map((side) => side.trim());
  if (signs.length === 2 && isName(sides[1])) {
    const [low, high] = upward(signs[0]) && upward(signs[1]) ? [sides[0], sides[2]] : [sides[2], sides[0]];
    const [first, second] = upward(signs[0]) ? signs : signs.toReversed();
    return interval(first, low, high, second, depth);
  }
  if (signs.length !== 1 || isName(sides[0]) === isName(sides[1])) return null;
  const [found] = signs;
  const isBelow = upward(found) === isName(sides[0]);
  const end = isName(sides[0]) ? sides[1] : sides[0];
  return isBelow ? interval("<", "-\\infty", end, found, depth) : interval(found, end, "\\infty", "<", depth);
}

function isName(side: string | undefined): boolean {
  return new RegExp(`^${name}$`).test(side ?? "");
}

function upward(found: string | undefined): boolean {
  return found === "<" || found === "\\le";
}

function interval(
  first: string | undefined,
  low: string | undefined,
  high: string | undefined,
  second: string | undefined,
  depth: number,
): Answer {
  const items = [low ?? "", high ?? ""].map((end) => read(end, depth + 1));
  return { kind: "tuple", left: isClosed(first) ? "[" : "(", items, right: isClosed(second) ? "]" : ")" };
}

function isClosed(found: string | undefined): boolean {
  return found === "\\le" || found === "\\ge";
}

function readBracketed(text: string, depth: number): Answer | null {
  const found = bracketed(text);
  if (found === null) return null;
  const { left, inside, right } = found;
  if (left === "\\{") return setOf(inside, depth);
  const parts = splitOutside(inside, /[,;]/);
  if (parts.length < 2) return left === "(" && right === ")" ? read(inside, depth + 1) : null;
  return { kind: "tuple", left, items: parts.map((part) => read(part, depth + 1)), right };
}

/** `{x : x > 2}` is read as its condition. */
function setOf(inside: string, depth: number): Answer {
  const condition = new RegExp(String.raw`^${name}(?:\s*\\in[^:|]*)?\s*[:|]([^]*)$`).exec(inside)?.[1];
  return condition === undefined ? listOf(inside, depth) : read(condition, depth + 1);
}

function readPlusMinus(text: string, depth: number): Answer | null {
  if (!/\\(?:pm|mp)(?![a-zA-Z])/.test(text)) return null;
  const plus = text.replace(/\\pm(?![a-zA-Z])/g, "+").replace(/\\mp(?![a-zA-Z])/g, "-");
  const minus = text.replace(/\\pm(?![a-zA-Z])/g, "-").replace(/\\mp(?![a-zA-Z])/g, "+");
  return { kind: "set", items: [plus, minus].map((each) => read(each, depth + 1)) };
}

/** Two letters or more in a row, none of a formula's signs: "east", "even", "Evelyn". */
function readWords(text: string): Answer | null {
  if (!/^[a-zA-Z][a-zA-Z '.-]*$/.test(text) || !/[a-z]{3}|[A-Z][a-z]/.test(text)) return null;
  const words = text.toLowerCase().replace(/^(?:the|a|an) /, "");
  return { kind: "words", text: words.replace(/[^a-z]+/g, " ").trim() };
}
