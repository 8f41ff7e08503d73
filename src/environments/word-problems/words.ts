/** The words of problems, plans, programs, outputs and answers. */
import { planOf, programOf, variables } from "./calculation.ts";
import { operators, phrases } from "./phrases.ts";
import { described, largest, names, things } from "./task.ts";

const numbers = Array.from({ length: largest + 1 }, (_, number) => String(number));
const seen = "solver executor verifier : | plan output nothing error unknown answer checked #";

export const words: readonly string[] = [
  ...new Set([seen, ...numbers, ...problems(), ...calculations()].flatMap((text) => text.split(" "))),
];

const known = new Set(words);
/** Of a plan or an output, what other seats see. */
const mostWords = 48;

/** What another seat sees of a text: its first words, "unknown" for those that are not in the vocabulary. */
export function inWords(text: string): string {
  const found = text.trim().split(/\s+/).slice(0, mostWords);
  return found.map((word) => (known.has(word) ? word : "unknown")).join(" ");
}

function problems(): string[] {
  const events = Object.keys(phrases).map((phrase) => ({ phrase, by: 2 }));
  const described1 = names.map((name) => described({ name, thing: "apples", start: 2, events }));
  return [...described1, ...things];
}

function calculations(): string[] {
  const lines = operators.map((operator) => ({ left: "2", operator, right: 2 }));
  return [planOf(lines), programOf(lines), variables.join(" ")];
}
