import { readFileSync } from "node:fs";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { openAlgebra } from "./algebra.ts";
import { sameAnswer } from "./compare.ts";

const algebra = openAlgebra();
const same = (one: string, other: string): boolean => sameAnswer(one, other, algebra);

type Verdict = readonly [one: string, sign: string, other: string];

const written = readFileSync(new URL("testing/verdicts.txt", import.meta.url), "utf8");
const verdicts = written.split("\n").flatMap((line): Verdict[] => {
  const [one = "", ...rest] = line.split(/ {2}([=≠]) {2}/);
  return rest.flatMap((sign, index) =>
    index % 2 === 0 ? [[one, sign, rest[index + 1] ?? ""] as const] : [],
  );
});

/** Characters that are not seen. */
const invisible: readonly Verdict[] = [
  ["2 3", "=", "2  3"],
  ["1\u200B2", "=", "12"],
  ["\uFEFF12\u200D", "=", "12"],
  ["\u200F12\u200E", "=", "12"],
  ["1\u2060,\u20602", "=", "1,2"],
  ["", "≠", ""],
];

it("there are at least 664 verdicts", () => {
  expect(verdicts.length).toBeGreaterThanOrEqual(664);
});

it.each([...verdicts, ...invisible])("%s %s %s", (one, sign, other) => {
  expect([same(one, other), same(other, one)]).toEqual([sign === "=", sign === "="]);
});

const integer = fc.integer({ min: -99_999, max: 99_999 });
const positive = fc.integer({ min: 1, max: 9999 });
/** Answers of every kind. */
const answer = fc.oneof(
  integer.map(String),
  fc.tuple(integer, positive).map(([a, b]) => `\\frac{${a}}{${b}}`),
  fc.tuple(integer, integer).map(([a, b]) => `(${a}, ${b})`),
  fc.tuple(integer, integer).map(([a, b]) => `${a}, ${b}`),
  fc.tuple(integer, positive).map(([a, b]) => `${a}+\\sqrt{${b}}`),
  fc.tuple(positive, positive).map(([a, b]) => `${a}x^{2}-${b}`),
  fc.constantFrom("\\text{even}", "(C)", "(-\\infty, 3]", "\\begin{pmatrix}1\\\\2\\end{pmatrix}"),
);

describe("comparison", () => {
  const runs = { numRuns: 30 };

  it("is reflexive", () => {
    fc.assert(
      fc.property(answer, (text) => {
        expect(same(text, text)).toBe(true);
      }),
      runs,
    );
  });

  it("is symmetric", () => {
    fc.assert(
      fc.property(answer, answer, (one, other) => {
        expect(same(one, other)).toBe(same(other, one));
      }),
      runs,
    );
  });

  it("does not depend on formatting", () => {
    const formats: readonly ((text: string) => string)[] = [
      (text) => `$${text}$`,
      (text) => ` ${text} `,
      (text) => `${text}.`,
      (text) => text.replaceAll("\\frac", "\\dfrac"),
      (text) => `\\displaystyle ${text}`,
      (text) => text.replaceAll(", ", ",\\ "),
    ];
    fc.assert(
      fc.property(answer, fc.constantFrom(...formats), (text, format) => {
        expect(same(text, format(text))).toBe(true);
      }),
      runs,
    );
  });

  it("of integers is that of integers", () => {
    fc.assert(
      fc.property(integer, integer, (one, other) => {
        expect(same(String(one), String(other))).toBe(one === other);
      }),
      runs,
    );
  });

  it("of fractions is that of cross products", () => {
    fc.assert(
      fc.property(integer, positive, integer, positive, (a, b, c, d) => {
        expect(same(`\\frac{${a}}{${b}}`, `${c}/${d}`)).toBe(a * d === c * b);
      }),
      runs,
    );
  });

  it("of powers and factorials is exact", () => {
    const exponent = fc.integer({ min: 500, max: 4000 });
    const base = fc.integer({ min: 2, max: 9 });
    fc.assert(
      fc.property(base, exponent, exponent, integer, (a, m, n, c) => {
        expect(same(`${a}^{${m}}\\cdot ${a}^{${n}}+${c}`, `${a}^{${m + n}}+${c}`)).toBe(true);
        expect(same(`${a}^{${m}}x+${c}`, `${a ** 2}^{${m}}x+${c}`)).toBe(false);
        expect(same(`\\frac{${a}^{${m}}+${c}}{${a}}`, `${a}^{${m - 1}}+\\frac{${c + 1}}{${a}}`)).toBe(false);
      }),
      runs,
    );
  });

  it("tells apart values that are closer than floating point can tell", () => {
    const value = fc.oneof(
      positive.map((n) => `\\sqrt{${n}}`),
      positive.map((n) => `\\ln ${n + 1}`),
      fc.tuple(positive, positive).map(([a, b]) => `\\frac{${a}\\pi}{${b}}`),
      fc.tuple(integer, positive).map(([a, b]) => `${a}+e^{1/${b}}`),
      positive.map((n) => `${n}x+\\sin x`),
    );
    const exponent = fc.integer({ min: 14, max: 300 });
    fc.assert(
      fc.property(value, exponent, positive, (text, digits, n) => {
        expect(same(text, `${text}+10^{-${digits}}`)).toBe(false);
        expect(same(text, `(${text})(1+e^{-${digits + 20}})`)).toBe(false);
        expect(same(text, `${text}+10^{-${digits}}-\\frac{${n}}{${n}\\cdot 10^{${digits}}}`)).toBe(true);
      }),
      runs,
    );
  });

  it("takes any text", () => {
    const piece = fc.constantFrom(..."\\frac { } ( ) ^ _ 9 x , \\pm = \\cup !".split(" "), " ");
    const text = fc.array(piece, { maxLength: 12 }).map((pieces) => pieces.join(""));
    fc.assert(
      fc.property(text, text, (one, other) => {
        expect(typeof same(one, other)).toBe("boolean");
      }),
      runs,
    );
  });
});
