/** The program of the processes that compare answers. */
import { z } from "zod";
import { openAlgebra } from "./algebra.ts";
import { sameAnswer } from "./compare.ts";
import type { Verdict } from "./process.ts";
import { serve } from "./serve.ts";

const algebra = openAlgebra();

/** Each exercises code whose first run is slow, so that a pair's time is its own. */
for (const [one, other] of [
  ["x^2-1", "(x-1)(x+1)"],
  ["\\frac{1}{\\sqrt{3}}+\\sin 1", "\\frac{\\sqrt{3}}{3}+\\log 2"],
  ["\\binom{2n}{n}", "\\frac{(2n)!}{n!^2}"],
  ["\\cot x", "\\frac{\\cos x}{\\sin x}"],
  ["2x+3y=1", "4x+6y=2"],
  ["\\frac{e^{30}+1}{2}", "\\frac{e^{30}}{2}+\\frac{1}{2}"],
] as const)
  compare(one, other);

const pairSchema = z.strictObject({ one: z.string(), other: z.string() });

serve((question) => {
  const { one, other } = pairSchema.parse(question);
  return compare(one, other);
});

/** An exception is caused by the texts, which then count as different. */
function compare(one: string, other: string): Verdict {
  try {
    return { isSame: sameAnswer(one, other, algebra) };
  } catch (error) {
    return {
      isSame: false,
      problem: `it cannot be compared (${error instanceof Error ? error.name : "unknown"})`,
    };
  }
}
