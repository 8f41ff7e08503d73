/** Who is right where the verifier and math-verify disagree, and why. */

export interface Disagreement {
  readonly name: string;
  readonly reference: string;
  readonly answer: string;
  readonly equal: boolean;
}

export interface Judgement {
  readonly reason: string;
  /** neither: a matter of notation, or the reference is malformed. */
  readonly right: "Troupe" | "neither";
}

type Rule = readonly [applies: (given: Disagreement) => boolean, reason: string, right: Judgement["right"]];

/** The first that applies counts. */
const rules: readonly Rule[] = [
  [
    ({ name }) => name.endsWith("/fullStop"),
    "it finds no answer in a box that ends with a full stop",
    "Troupe",
  ],
  [({ reference }) => /^\d+_\{?\d+\}?$/.test(reference), "it ignores the base", "Troupe"],
  [
    ({ reference }) => /\^[23]$/.test(reference) && /mbox/.test(reference),
    "it ignores the unit's power",
    "Troupe",
  ],
  [({ reference }) => reference.startsWith("\\$"), "it does not read an escaped currency sign", "Troupe"],
  [({ answer }) => /\\cdot\\left\(.*\\pm/.test(answer), "it does not expand the product", "Troupe"],
  [({ reference }) => /^\d+m$/.test(reference), "it reads m as a unit", "Troupe"],
  [({ answer }) => answer.includes("\\text{ or }"), "it does not read a union in words", "Troupe"],
  [({ answer }) => answer.startsWith("[-\\infty"), "infinity as a closed end", "neither"],
  [({ reference }) => /^t\(|\$.*\$/.test(reference), "a malformed reference", "neither"],
];

/** Null: no rule applies; somebody has to look. */
export function adjudicate(given: Disagreement): Judgement | null {
  const [, reason, right] = rules.find(([applies]) => applies(given)) ?? [];
  return reason === undefined || right === undefined ? null : { reason, right };
}
