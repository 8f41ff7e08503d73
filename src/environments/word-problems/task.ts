/** A task: somebody has a number of things, two or three events change it, and the question is how many there are in the end. */
import { z } from "zod";
import { childKey, drawInt, generatorOf, type Generator, type Key } from "../../random.ts";
import { splitOfHash } from "../held-out.ts";
import type { GameSplit } from "../tasks.ts";

export const names = ["ann", "ben", "cara", "dan", "eve", "finn"] as const;
export const things = ["apples", "books", "cards", "coins", "eggs", "pens", "shells", "stamps"] as const;
/** Numbers are single words, up to this one. */
export const largest = 49;
const leastStart = 2;
const mostStart = 12;
const leastBy = 2;
const mostBy = 9;

const event = z.strictObject({
  phrase: z.string().refine((name) => Object.hasOwn(phrases, name), { error: "no phrase of this game" }),
  by: z.int().min(leastBy).max(mostBy),
});

const story = z.strictObject({
  name: z.enum(names),
  thing: z.enum(things),
  start: z.int().min(leastStart).max(mostStart),
  events: z.array(event).min(2).max(3),
});

export const taskSchema = story.refine(isSolvable, {
  error: "a division leaves a remainder, or a result is not between 1 and 49",
});

export type Task = z.infer<typeof story>;

/** "ann has 7 apples . then ann finds 5 more . then ann loses 3 . how many ?" */
export function described({ name, thing, start, events }: Task): string {
  const told = events.map(({ phrase, by }) => `then ${name} ${phrases[phrase]?.words(by) ?? phrase} .`);
  return [`${name} has ${start} ${thing} .`, ...told, "how many ?"].join(" ");
}

export function operatorOf({ phrase }: Task["events"][number]): Operator {
  return phrases[phrase]?.operator ?? "+";
}

/** How many there are after each event. */
export function amounts({ start, events }: Task): number[] {
  let amount = start;
  return events.map((one) => (amount = apply[operatorOf(one)](amount, one.by)));
}

export function answer(task: Task): number {
  return amounts(task).at(-1) ?? task.start;
}

function isSolvable(task: Task): boolean {
  const before = [task.start, ...amounts(task)];
  return (
    before.every((amount) => amount >= 1 && amount <= largest) &&
    task.events.every((one, index) => operatorOf(one) !== "/" || (before[index] ?? 0) % one.by === 0)
  );
}

/**
 * What is calculated, whatever the order: "(* (+ 5 + 7) * 3)" is 5 + 7 * 3 as well as 7 + 5 * 3. The parts of a sum are sorted,
 * and so are those of a product: divisions leave no remainder. Problems that differ only in their words or in the order of
 * such steps count as one.
 */
export function calculationOf({ start, events }: Task): string {
  let parts = [String(start)];
  let first: "+" | "*" | null = null;
  for (const one of events) {
    const operator = operatorOf(one);
    const sign = operator === "+" || operator === "-" ? "+" : "*";
    if (sign !== first) parts = [`${sign} ${inAnyOrder(parts)}`];
    first = sign;
    parts.push(`${operator} ${one.by}`);
  }
  return inAnyOrder(parts);
}

function inAnyOrder(parts: readonly string[]): string {
  return parts.length === 1 ? parts.join() : `(${parts.toSorted().join(" ")})`;
}

/** A quarter of all calculations is kept out of training: a held-out task differs in more than its words and their order. */
export function splitOf(task: Task): GameSplit {
  return splitOfHash(childKey({ high: 0, low: 0 }, calculationOf(task)).low);
}

export function drawTask(split: GameSplit, key: Key): Task {
  for (let attempt = 0; ; attempt++) {
    const task = anyTask(generatorOf(childKey(key, attempt)));
    if (isSolvable(task) && splitOf(task) === split) return task;
  }
}

function anyTask(generator: Generator): Task {
  const count = 2 + drawInt(generator, 2);
  return {
    name: drawnFrom(names, generator),
    thing: drawnFrom(things, generator),
    start: leastStart + drawInt(generator, mostStart - leastStart + 1),
    events: Array.from({ length: count }, () => anyEvent(generator)),
  };
}

/** Every operation is as likely as the others; many of the tasks with products or quotients are not solvable. */
function anyEvent(generator: Generator): Task["events"][number] {
  const phrase = drawnFrom(Object.keys(phrases), generator);
  return { phrase, by: leastBy + drawInt(generator, mostBy - leastBy + 1) };
}

export function drawnFrom<Item>(items: readonly Item[], generator: Generator): Item {
  return items[drawInt(generator, items.length)] as Item;
}

/** As a plan writes them; a program divides with `//`. */
export const operators = ["+", "-", "*", "/"] as const;
export type Operator = (typeof operators)[number];

interface Phrase {
  readonly operator: Operator;
  readonly words: (by: number) => string;
}

export const phrases: Readonly<Record<string, Phrase>> = {
  finds: { operator: "+", words: (by) => `finds ${by} more` },
  buys: { operator: "+", words: (by) => `buys ${by}` },
  wins: { operator: "+", words: (by) => `wins ${by}` },
  given: { operator: "+", words: (by) => `is given ${by}` },
  loses: { operator: "-", words: (by) => `loses ${by}` },
  sells: { operator: "-", words: (by) => `sells ${by}` },
  away: { operator: "-", words: (by) => `gives away ${by}` },
  breaks: { operator: "-", words: (by) => `breaks ${by}` },
  times: { operator: "*", words: (by) => `ends up with ${by} times as many` },
  bags: { operator: "*", words: (by) => `fills ${by} bags with as many each` },
  copies: { operator: "*", words: (by) => `makes ${by} of each` },
  friends: { operator: "*", words: (by) => `is one of ${by} with as many , who put all together` },
  parts: { operator: "/", words: (by) => `keeps one of ${by} equal parts` },
  shares: { operator: "/", words: (by) => `shares all among ${by}` },
  every: { operator: "/", words: (by) => `keeps one in every ${by}` },
  packs: { operator: "/", words: (by) => `packs them in boxes of ${by} and counts boxes` },
};

export const apply: Readonly<Record<Operator, (left: number, right: number) => number>> = {
  "+": (left, right) => left + right,
  "-": (left, right) => left - right,
  "*": (left, right) => left * right,
  // Like Python's //.
  "/": (left, right) => Math.floor(left / right),
};

export const variables = ["a", "b", "c"] as const;

/** "b = a * 4": a line starts from the number of the task, or from the variable of an earlier line. */
export interface CalculationLine {
  readonly left: string;
  readonly operator: Operator;
  readonly right: number;
}

export function linesOf({ start, events }: Task): CalculationLine[] {
  return events.map((one, index) => ({
    left: variables[index - 1] ?? String(start),
    operator: operatorOf(one),
    right: one.by,
  }));
}

/** "a = 7 + 5 ; b = a / 3" */
export function planOf(lines: readonly CalculationLine[]): string {
  return lines
    .map(({ left, operator, right }, index) => `${variables[index]} = ${left} ${operator} ${right}`)
    .join(" ; ");
}

/** "a = 7 + 5 ; b = a // 3 ; print ( a , b )" */
export function programOf(lines: readonly CalculationLine[]): string {
  const shown = variables.slice(0, lines.length).join(" , ");
  return `${planOf(lines).replaceAll("/", "//")} ; print ( ${shown} )`;
}

const written = /^([abc]) = (\d{1,3}|[abc]) ([-+*/]) (\d{1,3})$/;

/** The lines of a plan; null: it is none, or a line uses a variable that is not yet known. */
export function linesIn(plan: string): CalculationLine[] | null {
  const parts = plan.replace(/( checked)+$/, "").split(" ; ");
  if (parts.length > variables.length) return null;
  const lines = parts.map((part, index) => lineIn(part, index));
  return lines.every((line) => line !== null) ? lines : null;
}

function lineIn(text: string, index: number): CalculationLine | null {
  const [, variable, left = "", operator, right] = written.exec(text) ?? [];
  const known: readonly string[] = variables.slice(0, index);
  const isKnown = /^\d/.test(left) || known.includes(left);
  if (variable !== variables[index] || !isKnown) return null;
  const found = operators.find((one) => one === operator);
  return found === undefined ? null : { left, operator: found, right: Number(right) };
}

/** The value of each line; NaN or infinite where a program would fail. */
export function valuesOf(lines: readonly CalculationLine[]): number[] {
  const values: number[] = [];
  for (const { left, operator, right } of lines) {
    const index = variables.findIndex((name) => name === left);
    const value = index < 0 ? Number(left) : (values[index] ?? Number.NaN);
    values.push(apply[operator](value, right));
  }
  return values;
}

const numbers = Array.from({ length: largest + 1 }, (_, number) => String(number));
const seen = "solver executor verifier : | plan output nothing error unknown answer checked #";

export const words: readonly string[] = [
  ...new Set([seen, ...numbers, ...problems(), ...calculations()].flatMap((text) => text.split(" "))),
];

const inVocabulary = new Set(words);
/** Of a plan or an output, what other seats see. */
const mostWords = 48;

/** What another seat sees of a text: its first words, "unknown" for those that are not in the vocabulary. */
export function inWords(text: string): string {
  const found = text.trim().split(/\s+/).slice(0, mostWords);
  return found.map((word) => (inVocabulary.has(word) ? word : "unknown")).join(" ");
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
