/** Ways to write the same text become one: a table of rewrites, in order. */
import { plainCharacters } from "./groups.ts";
import { measured, type MeasuredText } from "./units.ts";

type Rewrite = readonly [pattern: RegExp, replacement: string | ((...groups: string[]) => string)];

const superscripts = "⁰¹²³⁴⁵⁶⁷⁸⁹";
const vulgar: Readonly<Record<string, string>> = {
  "½": "1/2",
  "⅓": "1/3",
  "⅔": "2/3",
  "¼": "1/4",
  "¾": "3/4",
  "⅕": "1/5",
  "⅙": "1/6",
  "⅛": "1/8",
};

const characters: readonly Rewrite[] = [
  [/[−–—‒]/g, "-"],
  [/[×✕]/g, "\\times "],
  [/[·⋅∙]/g, "\\cdot "],
  [/÷/g, "/"],
  [/π/g, "\\pi "],
  [/∞/g, "\\infty "],
  [/≤/g, "\\le "],
  [/≥/g, "\\ge "],
  [/≠/g, "\\ne "],
  [/±/g, "\\pm "],
  [/∪/g, "\\cup "],
  [/∈/g, "\\in "],
  [/[∅Ø]/g, "\\emptyset "],
  [/°/g, "^\\circ "],
  [/…/g, "..."],
  [/√\s*(\w+|\([^()]*\))/g, (_, under) => `\\sqrt{${under ?? ""}}`],
  [/[½⅓⅔¼¾⅕⅙⅛]/g, (found) => fractionOf(vulgar[found ?? ""] ?? "")],
  [/[⁰¹²³⁴⁵⁶⁷⁸⁹]+/g, (found = "") => `^{${found.replace(/./g, (one) => String(superscripts.indexOf(one)))}}`],
];

function fractionOf(text: string): string {
  const [over = "", under = ""] = text.split("/");
  return `\\frac{${over}}{${under}}`;
}

/** Stands for `\\\\`, the end of a matrix's row, which other commands could be read into. */
export const endOfRow = "\u2424";

/** Not the inverse function, whose value is the angle. */
const angular = String.raw`(?<![a-zA-Z])\\?(?:sin|cos|tan|cot|sec|csc)(?![a-zA-Z])(?!\s*\^\s*\{?\s*-)`;
/** `22.5^\circ`, `\frac{45}{2}^\circ`, `(x+1)^\circ` */
const degrees =
  /(\d+(?:\.\d+)?|\.\d+|\\frac(?:\s*(?:\{[^{}]*\}|\d)){2}|\([^()]*\)|\\?[a-zA-Z]+)\s*\^\s*(?:\{\s*\\circ\s*\}|\\circ)/g;

/** Decimals become fractions, as others may be rounded. */
function inRadians(_: string, angle: string): string {
  const decimals = /^\d*\.(\d+)$/.exec(angle)?.[1]?.length ?? 0;
  return `\\frac{${decimals > 0 ? angle.replace(/^0*\.0*|\./, "") : angle}\\pi}{180${"0".repeat(decimals)}}`;
}

const typesetting: readonly Rewrite[] = [
  [/\\\\/g, endOfRow],
  [/^\s*(?:\\\(|\\\[)|(?:\\\)|\\\])\s*$/g, ""],
  // A currency sign, or the end of a formula.
  [/\\?\$|[£€]|\\(?:pounds|euro)\b/g, ""],
  [/(?<![\d.])\d{1,3}(?:\{,\}\d{3})+(?!\d)/g, (found = "") => found.replaceAll("{,}", "")],
  [/\{,\}/g, ","],
  [/\\(?:left|right|bigl?|bigr?|Bigl?|Bigr?|biggl?|biggr?|Biggl?|Biggr?)(?![a-zA-Z])\s*\.?/g, ""],
  [/\\(?:lbrace|rbrace)\b/g, (found) => (found === "\\lbrace" ? "\\{" : "\\}")],
  [/\\(?:lbrack|rbrack)\b/g, (found) => (found === "\\lbrack" ? "[" : "]")],
  [/\\[dtc]frac(?![a-zA-Z])/g, "\\frac"],
  [/\\dbinom|\\tbinom/g, "\\binom"],
  [/\\(?:displaystyle|textstyle|limits|nolimits|rm|bf|it|mathstrut)(?![a-zA-Z])/g, ""],
  [/\\(?:boxed|fbox|mathop|underline|bold|boldsymbol|mathbf|mathit)\s*\{([^{}]*)\}/g, "$1"],
  [/\\!/g, ""],
  [/\\(?:[,;: ]|quad(?![a-zA-Z])|qquad(?![a-zA-Z]))|~|&nbsp;/g, " "],
  [/\\(?:hspace|vspace|phantom)\s*\{[^{}]*\}/g, " "],
  [/\*\*/g, ""],
  [/\\(?:geqslant|geq|ge)(?![a-zA-Z])/g, "\\ge "],
  [/\\(?:leqslant|leq|le)(?![a-zA-Z])/g, "\\le "],
  [/\\gt(?![a-zA-Z])/g, ">"],
  [/\\lt(?![a-zA-Z])/g, "<"],
  [/>=/g, "\\ge "],
  [/<=/g, "\\le "],
  [/\\(?:colon|mid)(?![a-zA-Z])/g, ":"],
  [/\+\/-/g, "\\pm "],
  [/\+\s*-/g, "-"],
  [/\\div(?![a-zA-Z])/g, "/"],
  [/\\(?:degree|circ)(?![a-zA-Z])/g, "\\circ"],
  // An angle counts as one in a function; elsewhere degrees are a unit.
  [new RegExp(`${angular}[^,;=]*`, "g"), (found = "") => found.replace(degrees, inRadians)],
  [/\^\s*(?:\{\s*\\circ\s*\}|\\circ)/g, " "],
  [/(\.\d*?(\d)\2\2)\.{3,}/g, "$1\\ldots "],
  // What goes on is not what is written so far. After digits, and at the end of a sentence, dots mean nothing.
  [/(?<=[,;+]\s*)\.{2,}|\\(?:dots[cbm]?|cdots)(?![a-zA-Z])/g, "\\ldots "],
  // The segment AB.
  [/\\overline\s*\{\s*([A-Z]{2})\s*\}/g, "$1"],
  [/^\s*\\mathbb\s*\{?\s*R\s*\}?\s*$/g, "(-\\infty,\\infty)"],
  [/\\approx(?![a-zA-Z])/g, "="],
  [/\\vee(?![a-zA-Z])/g, "\\lor "],
  [/\\(?:emptyset|varnothing)(?![a-zA-Z])/g, "\\emptyset "],
  // After a number, an upright letter may be a unit.
  [
    /\\mathrm\s*\{([a-fi-kn-rt-z])\}|(?<![\d}\])]\s*)\\mathrm\s*\{([ghlms])\}/g,
    (_, one, other) => one ?? other ?? "",
  ],
];

/** After texts are unwrapped. */
const fractions: readonly Rewrite[] = [
  // \frac12, \frac 59, \frac9{19}, \frac{270}7
  [/\\frac\s*(\d)\s*(\d)/g, "\\frac{$1}{$2}"],
  [/\\frac\s*([a-zA-Z\d])\s*\{/g, "\\frac{$1}{"],
  [/\\frac\s*(\{[^{}]*\})\s*([a-zA-Z\d])/g, "\\frac$1{$2}"],
  [/\\frac\s*([a-zA-Z\d])\s*([a-zA-Z\d])/g, "\\frac{$1}{$2}"],
  [/\\frac\s*\{\s*([^{}]*?)\s*\}\s*\{\s*([^{}]*?)\s*\}/g, "\\frac{$1}{$2}"],
  [/\\sqrt\s*(\d|[a-zA-Z])/g, "\\sqrt{$1}"],
  [/(?<![\\a-zA-Z])sqrt\s*\(([^()]*)\)/g, "\\sqrt{$1}"],
  [/(?<![\\a-zA-Z])sqrt\s*(\d+)/g, "\\sqrt{$1}"],
  [/\^\s*(-?\d\d+|-\d)/g, "^{$1}"],
  [/\^\s*\(([^()]*)\)/g, "^{$1}"],
  [/_\s*\{?\s*(\d+)\s*\}?/g, "_{$1}"],
  [/(?<![\\a-zA-Z])(sin|cos|tan|cot|sec|csc|log|ln|exp|arcsin|arccos|arctan)(?![a-zA-Z])/g, "\\$1 "],
  [/(?<![\\a-zA-Z])pi(?![a-zA-Z])/g, "\\pi "],
  [/(?<![\\a-zA-Z])(?:infinity|infty|inf|oo)(?![a-zA-Z])/gi, "\\infty "],
  [/\*(?!\*)/g, "\\cdot "],
  [/\s+!/g, "!"],
  [/\+\s*\\infty/g, "\\infty"],
];

const wrapped =
  /\\(?:text|textbf|textit|textrm|textsf|mbox|hbox|mathrm|mathsf|operatorname\*?)\s*\{([^{}]*)\}/g;

/** `5 million`, `5\text{ million dollars}` */
const multiples: readonly Rewrite[] = (
  [
    ["dozen", "12"],
    ["hundred", "10^{2}"],
    ["thousand", "10^{3}"],
    ["million", "10^{6}"],
    ["billion", "10^{9}"],
    ["trillion", "10^{12}"],
  ] as const
).map(([word, value]) => [
  new RegExp(
    String.raw`(?<=\d)(?:\s|\\[ ,;:]|~)*(\\(?:text|mbox|mathrm|textrm)\s*\{\s*)?${word}s?(?![a-zA-Z])`,
    "gi",
  ),
  (_, text) => `\\times ${value}${text ?? ""}`,
]);

/** One way to write the text. Spaces are kept, one at a time, as they separate words and mixed numbers. */
export function normalised(given: string): MeasuredText {
  const start = plainCharacters(given.normalize("NFC")).replace(/\s+/g, " ").replace(/\\%/g, "%");
  const plain = measured([...characters, ...multiples, ...typesetting].reduce(rewrite, start));
  const words = measured(
    plain.text
      .replace(wrapped, (_, inside: string) => joined(inside.trim()) ?? inside)
      .replace(/(?<=[\d}\])a-z%])\s*,?\s+(and|or)\s+/g, (_, word: string) => joined(word) ?? word),
  );
  const text = trimmed(fractions.reduce(rewrite, words.text));
  return { text, unit: plain.unit || words.unit || unitOfSign(start) };
}

/** Units that are dropped with other signs, or kept. A dollar sign alone may begin a formula. */
function unitOfSign(text: string): string {
  if (/^[^\\]*\\\$\s*[\d.]/.test(text)) return "dollars";
  if (/%\s*(?:\\\)|\$)?\s*$/.test(text)) return "percent";
  const isAngle = /(?:°|\^\s*\{?\s*\\(?:circ|degree)\s*\}?)\s*\$?\s*$/.test(text);
  return isAngle && !new RegExp(angular).test(text) ? "degrees" : "";
}

/** Null: the word joins no answers. */
function joined(word: string): string | null {
  if (word === "and") return " , ";
  return word === "or" ? " \\lor " : null;
}

/** Without spaces that mean nothing: others separate two numbers, or the parts of a mixed number. */
export function withoutSpaces(text: string): string {
  const ungrouped = text.replace(grouped, (found) => found.replaceAll(" ", ""));
  return ungrouped.replace(/ (?!\d)|(?<!\d) /g, "");
}

/** `1 080`, but not `1 080/7`. */
const grouped = /(?<![\d.])\d{1,3}(?: \d{3})+(?![\d/])/g;

function rewrite(text: string, [pattern, replacement]: Rewrite): string {
  return typeof replacement === "string"
    ? text.replace(pattern, replacement)
    : text.replace(pattern, (...groups: unknown[]) => replacement(...(groups as string[])));
}

function trimmed(text: string): string {
  return text.replace(/\s+/g, " ").replace(/^[\s,;:]+|[\s.,;:\u2424]+$/g, "");
}
