/** A task: somebody has a number of things, two or three events change it, and the question is how many there are in the end. */
import { z } from "zod";
import { childKey, drawInt, generatorOf, type Generator, type Key } from "../../random.ts";
import { splitOfHash } from "../held-out.ts";
import type { GameSplit } from "../tasks.ts";
import { apply, phrases, type Operator } from "./phrases.ts";

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
