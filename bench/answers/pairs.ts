/**
 * Pairs of answers from the references of mathematics data sets: rewrites that are equal, and neighbours that are not.
 *
 * `node bench/answers/pairs.ts FOLDER > pairs.jsonl`, where FOLDER has AIME_1983_2024.json, aime_2025.json, amc.json,
 * marti_math.json and marti_olympiad_bench.json.
 */
import { readFileSync } from "node:fs";
import path from "node:path";

export interface Pair {
  /** File, row and rewrite: `marti_math/12/dfrac`. */
  readonly name: string;
  readonly reference: string;
  readonly answer: string;
  /** By construction. */
  readonly equal: boolean;
}

const files = ["AIME_1983_2024", "aime_2025", "amc", "marti_math", "marti_olympiad_bench"];

type Rewrite = (text: string) => string | null;

const integer = /^-?\d+$/;
const simpleFraction = /^(-?)\\[dt]?frac\{(\d+)\}\{(\d+)\}$/;

const integerPair = /^\(\s*(-?\d+)\s*,\s*(-?\d+)\s*\)$/;
/** `(-\infty, a) \cup (b, \infty)` */
const twoRays = /^\(-\\infty,\s*([^,()[\]]+)([)\]])\s*\\cup\s*([([])([^,()[\]]+),\s*\\infty\)$/;

/** Null: the rewrite does not apply. */
const equal: Readonly<Record<string, Rewrite>> = {
  same: (text) => text,
  dollars: (text) => (text.includes("$") ? null : `$${text}$`),
  fullStop: (text) => (integer.test(text) ? null : `${text}.`),
  spaces: (text) =>
    /[+,]/.test(text) && !/\d,\s?\d{3}|\\!|\d \d/.test(text) ? text.replace(/([+,])/g, " $1 ") : null,
  dfrac: (text) => (text.includes("\\frac{") ? text.replaceAll("\\frac{", "\\dfrac{") : null),
  slash: (text) => swap(text, simpleFraction, (_, sign, a, b) => `${sign}${a}/${b}`),
  doubled: (text) =>
    swap(text, simpleFraction, (_, sign, a, b) => `${sign}\\frac{${2 * Number(a)}}{${2 * Number(b)}}`),
  decimal: (text) => swap(text, simpleFraction, (_, sign, a, b) => finite(sign ?? "", Number(a), Number(b))),
  point: (text) => (integer.test(text) ? `${text}.0` : null),
  halves: (text) => (integer.test(text) ? `\\frac{${2 * Number(text)}}{2}` : null),
  thousands: (text) => (/^\d{4,9}$/.test(text) ? Number(text).toLocaleString("en-GB") : null),
  unit: (text) => (integer.test(text) ? `${text} \\text{ cm}` : null),
  named: (text) => (integer.test(text) || /^\\sqrt\{\d+\}$/.test(text) ? `x = ${text}` : null),
  braces: (text) => (isList(text) ? `\\{${text}\\}` : null),
  reversed: (text) => (isList(text) ? itemsOf(text).toReversed().join(", ") : null),
  degrees: (text) => swap(text, /^(\d+)\s*\^\{?\\circ\}?$/, (_, number) => number ?? ""),
  brackets: (text) => (/^\([^()]*\)$/.test(text) ? `\\left${text.slice(0, -1)}\\right)` : null),
  root: (text) =>
    swap(text, /^(\d*)\s*\\sqrt\{(\d+)\}$/, (_, a, b) => `\\sqrt{${(Number(a) || 1) ** 2 * Number(b)}}`),
  assigned: (text) => swap(text, integerPair, (_, a, b) => `x = ${a}, y = ${b}`),
  orDecimal: (text) =>
    swap(text, simpleFraction, (fraction, sign, a, b) => {
      const decimal = finite(sign ?? "", Number(a), Number(b));
      return decimal && `${fraction} \\text{ or } ${decimal}`;
    }),
  ratio: (text) => swap(text, simpleFraction, (_, sign, a, b) => (sign === "" ? `${a}:${b}` : "")),
  alternatives: (text) =>
    swap(text, twoRays, (_, a, left, right, b) => {
      const [below, above] = [left === "]" ? "\\le" : "<", right === "[" ? "\\ge" : ">"];
      return `x ${below} ${a} \\text{ or } x ${above} ${b}`;
    }),
  timesOne: (text) => (isFormula(text) ? `1\\cdot\\left(${text}\\right)` : null),
  plusZero: (text) => (isFormula(text) ? `0+${text}` : null),
};

const different: Readonly<Record<string, Rewrite>> = {
  oneMore: (text) => neighbour(text, 1n),
  oneLess: (text) => neighbour(text, -1n),
  negative: (text) => (integer.test(text) && text !== "0" ? String(-Number(text)) : null),
  minus: (text) => (isFormula(text) && !text.includes("\\pm") ? `-\\left(${text}\\right)` : null),
  inverse: (text) =>
    swap(text, simpleFraction, (_, sign, a, b) => (a === b ? "" : `${sign}\\frac{${b}}{${a}}`)),
  swapped: (text) =>
    swap(text, /^\(([^(),]+),([^(),]+)\)$/, (_, a, b) => (a?.trim() === b?.trim() ? "" : `(${b},${a})`)),
  assignedSwapped: (text) => swap(text, integerPair, (_, a, b) => (a === b ? "" : `x = ${b}, y = ${a}`)),
  ratioInverse: (text) =>
    swap(text, simpleFraction, (_, sign, a, b) => (sign === "" && a !== b ? `${b}:${a}` : "")),
  orHalf: (text) =>
    swap(
      text,
      simpleFraction,
      (fraction, sign, a, b) => `${fraction} \\text{ or } ${sign}\\frac{${a}}{${2 * Number(b)}}`,
    ),
  fewer: (text) =>
    isList(text) && new Set(itemsOf(text)).size > 1 ? itemsOf(text).slice(1).join(",") : null,
  closed: (text) =>
    swap(text, /^\((.*\\infty)\)$|^\((.*),(.*)\]$/, (found) =>
      found.includes("]") ? `[${found.slice(1)}` : "",
    ),
};

function swap(text: string, pattern: RegExp, to: (...groups: string[]) => string): string | null {
  if (!pattern.test(text)) return null;
  return text.replace(pattern, (...groups: unknown[]) => to(...(groups as string[]))) || null;
}

function finite(sign: string, a: number, b: number): string {
  const isFinite = /^[25]*$/.test(factors(b));
  return isFinite ? `${sign}${String(a / b)}` : "";
}

function factors(number: number): string {
  for (const prime of [2, 3, 5, 7, 11, 13]) if (number % prime === 0) return prime + factors(number / prime);
  return number === 1 ? "" : "x";
}

function isList(text: string): boolean {
  return /^-?[\d.]+(?:,\s*-?[\d.]+)+$/.test(text) && !/\d,\s*\d{3}(?!\d)/.test(text);
}

function itemsOf(text: string): string[] {
  return text.split(",").map((item) => item.trim());
}

function isFormula(text: string): boolean {
  return (
    !integer.test(text) &&
    !/[,=<>%_&]|\\(?:text|mbox|in|cup|begin|infty|ge|le|\{)|circ|\$|[a-z]{4}|\.$/.test(
      text.replace(/\\(?:frac|sqrt|left|right|lfloor|rfloor|lceil|rceil|binom|log|cdot)/g, ""),
    )
  );
}

/** The last number of the text changed. */
function neighbour(text: string, by: bigint): string | null {
  const last = [...text.matchAll(/\d+/g)].at(-1);
  if (last === undefined || text.includes(".")) return null;
  const changed = BigInt(last[0]) + by;
  const isHarmless = changed < 0n || (changed <= 1n && !integer.test(text));
  return isHarmless
    ? null
    : text.slice(0, last.index) + String(changed) + text.slice(last.index + last[0].length);
}

function referenceOf(answer: unknown): string {
  const listed = /^\[(['"])([^]*)\1\]$/.exec(String(answer));
  const text = (listed?.[2] ?? String(answer)).replaceAll("\\\\", "\\");
  return (listed === null ? String(answer) : text).replace(/^\$([^$]*)\$$/, "$1").trim();
}

function pairsOf(file: string, row: number, reference: string): Pair[] {
  const made = (rewrites: Readonly<Record<string, Rewrite>>, isEqual: boolean): Pair[] =>
    Object.entries(rewrites).flatMap(([rewrite, change]) => {
      const answer = change(reference);
      return answer === null
        ? []
        : [{ name: `${file}/${row}/${rewrite}`, reference, answer, equal: isEqual }];
    });
  return [...made(equal, true), ...made(different, false)];
}

const [folder = "."] = process.argv.slice(2);
for (const file of files) {
  const rows = JSON.parse(readFileSync(path.join(folder, `${file}.json`), "utf8")) as {
    readonly answer: unknown;
  }[];
  for (const [row, { answer }] of rows.entries())
    for (const pair of pairsOf(file, row, referenceOf(answer)))
      process.stdout.write(`${JSON.stringify(pair)}\n`);
}
