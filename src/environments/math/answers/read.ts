/** What an answer is: a number, words, a choice, a list, an interval, a matrix, a relation, or an expression. */
import { determinantOf, bracketed, splitOutside } from "./groups.ts";
import { endOfRow, withoutSpaces } from "./normalise.ts";
import { readRatio, readRational, type Rational } from "./rational.ts";

export type ParsedAnswer =
  | { readonly kind: "number"; readonly value: Rational; readonly latex: string }
  /** In lower case. */
  | { readonly kind: "words"; readonly text: string }
  | { readonly kind: "choice"; readonly letter: string }
  /** A number in a base. */
  | { readonly kind: "based"; readonly digits: string; readonly base: string }
  /** `3 \pmod 5`: a class of numbers. */
  | { readonly kind: "residue"; readonly residue: bigint; readonly modulus: bigint }
  /** `{1, 2}`, or `1, 2`: the order does not count. */
  | {
      readonly kind: "set";
      readonly items: readonly ParsedAnswer[];
      /** `1/2 or 0.5`: they may be the same answer. */
      readonly isChoice: boolean;
    }
  /** `3:4` */
  | { readonly kind: "ratio"; readonly parts: readonly string[] }
  /** `x = 1, y = 2`, `(x, y) = (1, 2)`: in the order of an unnamed tuple. */
  | { readonly kind: "assignment"; readonly items: readonly Assigned[] }
  | {
      readonly kind: "tuple";
      readonly left: string;
      readonly items: readonly ParsedAnswer[];
      readonly right: string;
    }
  | { readonly kind: "union"; readonly parts: readonly ParsedAnswer[] }
  | {
      readonly kind: "matrix";
      /** `|`: a determinant; `\\|`: a norm. */
      readonly bars: string;
      readonly rows: readonly (readonly ParsedAnswer[])[];
    }
  /** `x = 5`, `f(x) = 2x`: a name for what follows. */
  | {
      readonly kind: "named";
      readonly name: string;
      /** `x` of f(x). */
      readonly argument: string | null;
      readonly value: ParsedAnswer;
      readonly text: string;
    }
  | { readonly kind: "equation"; readonly left: string; readonly right: string }
  | { readonly kind: "expression"; readonly latex: string };

export interface Assigned {
  readonly name: string;
  readonly value: ParsedAnswer;
}

/** What it may be: `1,234` is a number or two. The first is the likeliest. */
export function readings(text: string): readonly ParsedAnswer[] {
  const likeliest = read(text, 0);
  if (/[([]|\\\{/.test(text) || text.search(grouped) < 0) return [likeliest];
  const number = read(
    text.replace(grouped, (found) => found.replace(/, ?/g, "")),
    0,
  );
  // No list has the item 050.
  if (/,0\d\d/.test(text)) return [number];
  return [number, likeliest.kind === "number" ? listOf(text, 0) : likeliest];
}

/** In a number alone, a space may follow the comma. */
const grouped = /^-?\d{1,3}(?:, ?\d{3})+$|(?<![\d.,])\d{1,3}(?:,\d{3})+(?!\d|,\d)/g;

const deepest = 6;

type Reader = (text: string, depth: number) => ParsedAnswer | null;

/** In order; the first that recognises the text counts. */
const readers: readonly Reader[] = [
  readNumber,
  readSeveral,
  readChoice,
  readBased,
  readResidue,
  readMatrix,
  readEmpty,
  readUnion,
  readAlternatives,
  readList,
  readRatioOf,
  readMembership,
  readEquation,
  readInequality,
  readBracketed,
  readPlusMinus,
  readPhrase,
  readWords,
];

function read(given: string, depth: number): ParsedAnswer {
  const text = given.trim();
  if (depth > deepest) return { kind: "expression", latex: text };
  for (const reader of readers) {
    const found = reader(text, depth);
    if (found !== null) return found;
  }
  return { kind: "expression", latex: text };
}

function readNumber(text: string): ParsedAnswer | null {
  const value = readRational(text);
  return value === null ? null : { kind: "number", value, latex: text };
}

/** `2 3` is neither 23 nor 6: equal only to itself. */
function readSeveral(text: string): ParsedAnswer | null {
  return /^[+-]?\d[\d.]*(?: \d[\d./]*)+$/.test(text) ? { kind: "words", text } : null;
}

/** `(C)`, `C.`, `(C) 42`. A letter alone may be a variable; it is compared as a choice with a choice. */
function readChoice(text: string): ParsedAnswer | null {
  const found = /^(?:\(([A-Z])\)|([A-Z])[.):])(?:\s(?!\s*(?:[,;]|\\lor)).*)?$/.exec(text);
  const letter = found?.[1] ?? found?.[2];
  return letter === undefined ? null : { kind: "choice", letter };
}

function readBased(text: string): ParsedAnswer | null {
  const [, digits, base] = /^\(?([\dA-F]+)\)?_\{(\d+)\}$/.exec(text.replaceAll(" ", "")) ?? [];
  return digits === undefined || base === undefined ? null : { kind: "based", digits, base };
}

function readResidue(text: string): ParsedAnswer | null {
  const found = /(?:^|\\equiv)(-?\d{1,30})\\pmod\{?(\d{1,30})\}?$/.exec(text.replaceAll(" ", ""));
  const [residue, modulus] = [found?.[1], found?.[2]].map((digits) => BigInt(digits ?? 0));
  if (residue === undefined || modulus === undefined || modulus === 0n) return null;
  return { kind: "residue", residue: ((residue % modulus) + modulus) % modulus, modulus };
}

/** A number or a letter before a matrix. */
const scaledMatrix =
  /^((?:[-+\d.\sa-z]|\\(?:frac|sqrt)(?:\{[^{}]*\})+|\\pi(?![a-zA-Z]))+?)(?:\\(?:cdot|times))?\s*((?:[([|]|\\\|)?\s*\\begin[^]*)$/;
const matrix = /^\\begin\{([pbvBV]?matrix|array)\}(?:\{[lcr|]*\})?([^]*)\\end\{\1\}$/;
const aroundMatrix = /^(\(|\[|\\?\|)\s*(?=\\begin)|(?<=\\end\{\w+\})\s*(?:\)|\]|\\?\|)$/g;
const barsOf: Readonly<Record<string, string>> = { vmatrix: "|", Vmatrix: "\\|" };

function readMatrix(text: string, depth: number): ParsedAnswer | null {
  const [, factor, scaled = text] = scaledMatrix.exec(text) ?? [];
  const unsigned = scaled.replace(/^\\det\s*/, "");
  const [, style = "", body] = matrix.exec(unsigned.replace(aroundMatrix, "")) ?? [];
  if (body === undefined) return null;
  const bars = unsigned === scaled ? (barsOf[style] ?? /^\\?\|/.exec(scaled)?.[0] ?? "") : "|";
  const rows = body
    .split(endOfRow)
    .filter((row) => row.trim() !== "")
    .map((row) => row.split("&"));
  const determinant = bars === "|" ? determinantOf(rows) : null;
  const times = (value: string) => (factor === undefined ? value : `(${factorOf(factor)})\\cdot (${value})`);
  if (determinant !== null) return { kind: "expression", latex: times(determinant) };
  if (factor !== undefined && bars !== "") return null;
  return { kind: "matrix", bars, rows: rows.map((row) => row.map((cell) => read(times(cell), depth + 1))) };
}

/** A sign alone is that of one. */
function factorOf(text: string): string {
  return /[-+]\s*$/.test(text) ? `${text}1` : text;
}

function readEmpty(text: string): ParsedAnswer | null {
  const isEmpty =
    /^(?:\\emptyset|\\\{ *\\\}|(?:the )?empty set|none)$/i.test(text) ||
    /^(?:there (?:is|are) )?no (?:real )?(?:solutions?|roots?)(?: exists?)?$/i.test(text);
  return isEmpty ? { kind: "set", items: [], isChoice: false } : null;
}

/** `x < 1 or x > 2` is a union. */
function readAlternatives(text: string, depth: number): ParsedAnswer | null {
  const parts = splitOutside(text, /\\lor(?![a-zA-Z])/).map((part) => part.trim());
  const [variable = null] = parts.map(variableOf);
  if (parts.length < 2 || variable === null || parts.some((part) => variableOf(part) !== variable))
    return null;
  return { kind: "union", parts: parts.map((part) => read(part, depth + 1)) };
}

function readRatioOf(text: string): ParsedAnswer | null {
  const parts = readRatio(text);
  return parts === null ? null : { kind: "ratio", parts };
}

function readUnion(text: string, depth: number): ParsedAnswer | null {
  const parts = splitOutside(text, /\\cup(?![a-zA-Z])/);
  return parts.length < 2 ? null : { kind: "union", parts: parts.map((part) => read(part, depth + 1)) };
}

const separator = /[,;]|\\lor(?![a-zA-Z])/;

function readList(text: string, depth: number): ParsedAnswer | null {
  if (splitOutside(text, separator).length < 2) return null;
  const list = listOf(text, depth);
  return assignmentOf(list.items) ?? list;
}

function listOf(text: string, depth: number): Extract<ParsedAnswer, { readonly kind: "set" }> {
  const parts = splitOutside(text, separator).filter((part) => part.trim() !== "");
  const items = parts.flatMap((part) => spread(part, read(part, depth + 1)));
  return { kind: "set", items, isChoice: /\\lor(?![a-zA-Z])/.test(text) };
}

/** 1 ± √2 among others is two of them. */
function spread(text: string, item: ParsedAnswer): readonly ParsedAnswer[] {
  return item.kind === "set" && plusMinus.test(text) ? item.items : [item];
}

/** Variables of one letter are in alphabetical order, as the items of a tuple are. Null: not all have names of their own. */
function assignmentOf(items: readonly ParsedAnswer[]): ParsedAnswer | null {
  const assigned = items.flatMap((item) =>
    item.kind === "named" && item.argument === null ? [{ name: item.name, value: item.value }] : [],
  );
  const names = new Set(assigned.map((one) => one.name));
  if (assigned.length < items.length || names.size < items.length) return null;
  const inOrder = [...names].every((one) => /^[a-zA-Z](?:_\d)?$/.test(one));
  const ordered = inOrder ? assigned.toSorted((a, b) => (a.name < b.name ? -1 : 1)) : assigned;
  return { kind: "assignment", items: ordered };
}

const name = String.raw`(?:\\[a-zA-Z]+|[a-zA-Z])(?:_\{?[\w\\]*\s*\}?)?'?(?:\s*\([a-zA-Z, ]*\))?`;
const named = new RegExp(
  String.raw`^(${name}|\\angle [A-Z_{}\d ]+|[A-Z]{2,3}|[a-z]{2}|\([a-zA-Z](?:, ?[a-zA-Z])+\))\s*:?=([^]*)$`,
);
const member = new RegExp(String.raw`^(${name})\s*\\in(?![a-zA-Z])([^]*)$`);

function readMembership(text: string, depth: number): ParsedAnswer | null {
  const [, , set] = member.exec(text) ?? [];
  return set === undefined ? null : read(set, depth + 1);
}

/** With several signs, `x = 2 + 3 = 5`, the last side counts. */
function readEquation(text: string, depth: number): ParsedAnswer | null {
  const sides = splitOutside(text, /=/).map((side) => side.trim());
  const [left = "", right = ""] = [sides[0], sides.at(-1)];
  if (sides.length < 2 || right === "" || /\\(?:le|ge|ne)(?![a-zA-Z])|[<>]/.test(text)) return null;
  const found = named.exec(`${left}=${right}`);
  if (found !== null) {
    const tuple = namedTuple(left, right, depth);
    if (tuple !== null) return tuple;
    const argument = /\(\s*([a-zA-Z])\s*\)$/.exec(left)?.[1] ?? null;
    return { kind: "named", name: nameOf(left), argument, value: read(right, depth + 1), text: right };
  }
  const words = /^[a-zA-Z][a-z]+(?: [a-zA-Z]+)*:?$/.test(left) && !/[+\-*/^]/.test(left);
  return words ? read(right, depth + 1) : { kind: "equation", left, right };
}

/** `(x, y) = (1, 2)` */
function namedTuple(left: string, right: string, depth: number): ParsedAnswer | null {
  const names = bracketed(left)?.inside.split(",");
  if (names === undefined) return null;
  const value = read(right, depth + 1);
  if (value.kind !== "tuple" || value.items.length !== names.length) return null;
  const items = value.items.map((item, index) => ({ name: (names[index] ?? "").trim(), value: item }));
  return { kind: "assignment", items };
}

/** Functions are named after their letter: f(x) = x and f(n) = n have the same name. */
function nameOf(left: string): string {
  return left.replace(/\s*\(.*/, "()").replaceAll(/[\s{}]/g, "");
}

const sign = /\\(?:le|ge)(?![a-zA-Z])|[<>]/;

/** `x \ge 2` and `2 < x \le 5` as intervals. */
function readInequality(text: string, depth: number): ParsedAnswer | null {
  const signs = text.match(new RegExp(sign, "g")) ?? [];
  const sides = splitOutside(text, sign).map((side) => side.trim());
  if (sides.length !== signs.length + 1) return null;
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

/** Of an inequality with one. */
function variableOf(text: string): string | null {
  if (!sign.test(text)) return null;
  const names = text
    .split(sign)
    .map((side) => side.trim())
    .filter(isName);
  return names.length === 1 ? (names[0] ?? null) : null;
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
): ParsedAnswer {
  const items = [low ?? "", high ?? ""].map((end) => read(end, depth + 1));
  return { kind: "tuple", left: isClosed(first) ? "[" : "(", items, right: isClosed(second) ? "]" : ")" };
}

function isClosed(found: string | undefined): boolean {
  return found === "\\le" || found === "\\ge";
}

function readBracketed(text: string, depth: number): ParsedAnswer | null {
  const found = bracketed(text);
  if (found === null) return null;
  const { left, inside, right } = found;
  if (left === "\\{") return setOf(inside, depth);
  const parts = splitOutside(inside, /[,;]/);
  if (parts.length < 2) return left === "(" && right === ")" ? read(inside, depth + 1) : null;
  return { kind: "tuple", left, items: parts.map((part) => read(part, depth + 1)), right };
}

/** `{x : x > 2}` is read as its condition. */
function setOf(inside: string, depth: number): ParsedAnswer {
  const condition = new RegExp(String.raw`^${name}(?:\s*\\in[^:|]*)?\s*[:|]([^]*)$`).exec(inside)?.[1];
  return condition === undefined ? listOf(inside, depth) : read(condition, depth + 1);
}

const plusMinus = /\\(?:pm|mp)(?![a-zA-Z])/;

function readPlusMinus(text: string, depth: number): ParsedAnswer | null {
  if (!plusMinus.test(text)) return null;
  const items = signed(text).map((each) => read(each, depth + 1));
  return { kind: "set", items, isChoice: false };
}

/** Independent signs that are spread out; more are read together. */
const mostSigns = 3;

/** Signs are independent, as in ±1 ± √2, unless ∓ says which belong together. */
function signed(text: string): readonly string[] {
  const signs = text.match(/\\pm(?![a-zA-Z])/g)?.length ?? 0;
  if (/\\mp(?![a-zA-Z])/.test(text) || signs > mostSigns)
    return ["+-", "-+"].map((pair) => resolved(text, pair));
  return signs === 0 ? [text] : ["+", "-"].flatMap((one) => signed(text.replace(/\\pm(?![a-zA-Z])/, one)));
}

function resolved(text: string, [plus = "", minus = ""]: string): string {
  return text.replace(/\\pm(?![a-zA-Z])/g, plus).replace(/\\mp(?![a-zA-Z])/g, minus);
}

const between = "to|of|per|by|than|from|over|choose|plus|minus|less|remainder";
const phrase = new RegExp(String.raw`(?:[\s\d})])(?:${between})(?=[\s\d\\({])|^\d+ ?[rR] ?\d+$`);

/** "3 out of 4" and "17 R 3" are no products of letters. */
function readPhrase(text: string): ParsedAnswer | null {
  return phrase.test(text) ? { kind: "words", text: withoutSpaces(text.toLowerCase()) } : null;
}

/** Two letters or more in a row, none of a formula's signs: "east", "even", "Evelyn", "HTH". */
function readWords(text: string): ParsedAnswer | null {
  if (!/^[a-zA-Z][a-zA-Z '.-]*$/.test(text) || !/[a-z]{3}|[A-Z][a-z]|^[A-Z]{3,}$/.test(text)) return null;
  const words = text.toLowerCase().replace(/^(?:the|a|an) /, "");
  return { kind: "words", text: words.replace(/[^a-z]+/g, " ").trim() };
}
