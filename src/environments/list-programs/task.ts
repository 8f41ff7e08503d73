/** A task: keep some numbers of a list, change each, and reduce the list to an answer. */
import { z } from "zod";
import { drawInt, generatorOf, childKey, type Generator, type Key } from "../../random.ts";
import { splitOfHash } from "../held-out.ts";
import type { GameSplit } from "../tasks.ts";
import { filters, formOf, reductions, transforms, type ListAnswer, type Operation } from "./operations.ts";

const operation = (table: Readonly<Record<string, { numbers?: readonly number[] }>>) =>
  z
    .strictObject({ name: z.string(), by: z.int() })
    .refine(({ name, by }) => Object.hasOwn(table, name) && (table[name]?.numbers ?? [0]).includes(by), {
      error: "no operation of this game",
    });

export const taskSchema = z.strictObject({
  filter: operation(filters),
  transforms: z.array(operation(transforms)).min(1).max(2),
  reduction: operation(reductions),
});

export type Task = z.infer<typeof taskSchema>;

/** The inputs of every task's tests. Tasks that agree on all of them count as the same behaviour. */
export const inputs: readonly (readonly number[])[] = [
  [],
  [7],
  [3, 12, 5, 8],
  [10, 2, 9, 4, 15],
  [6, 6, 1, 11, 0, 13],
  [14, 5, 3, 3, 18, 8, 2],
  [1, 16, 7, 20, 4, 9, 12],
  [17, 2, 6, 19, 11, 5, 10, 4],
];

export function answer(task: Task, xs: readonly number[]): ListAnswer {
  const keep = formOf(filters, task.filter).apply(task.filter.by);
  const change = task.transforms.map((one) => formOf(transforms, one).apply(one.by));
  const changed = xs.filter(keep).map((x) => change.reduce((value, apply) => apply(value), x));
  return formOf(reductions, task.reduction).apply(task.reduction.by)(changed);
}

/** What the tests see of a task: its answers to all inputs. */
function behaviour(task: Task): readonly ListAnswer[] {
  return inputs.map((xs) => answer(task, xs));
}

/** Many tasks behave alike: evaluations take one of each behaviour. */
export function behaviourOf(task: Task): string {
  return JSON.stringify(behaviour(task));
}

/** A quarter of all behaviours is kept out of training, so that a held-out task is new in what it does, not in how it is put. */
export function splitOf(task: Task): GameSplit {
  return splitOfHash(hashOf(behaviourOf(task)));
}

export function drawTask(split: GameSplit, key: Key): Task {
  for (let attempt = 0; ; attempt++) {
    const task = anyTask(generatorOf(childKey(key, attempt)));
    if (splitOf(task) === split && isVaried(task)) return task;
  }
}

/** At least five different answers to the eight inputs: a constant, or a program for another task, earns little. */
export function isVaried(task: Task): boolean {
  return new Set(behaviour(task).map((one) => JSON.stringify(one))).size >= 5;
}

function anyTask(generator: Generator): Task {
  const changes = 1 + drawInt(generator, 2);
  return {
    filter: anyOperation(generator, filters),
    transforms: Array.from({ length: changes }, () => anyOperation(generator, transforms)),
    reduction: anyOperation(generator, reductions),
  };
}

function anyOperation(
  generator: Generator,
  table: Readonly<Record<string, { numbers?: readonly number[] }>>,
): Operation {
  const names = Object.keys(table);
  const name = names[drawInt(generator, names.length)] as string;
  const numbers = table[name]?.numbers ?? [0];
  return { name, by: numbers[drawInt(generator, numbers.length)] as number };
}

/** 32 well-mixed bits of a text. */
function hashOf(text: string): number {
  return childKey({ high: 0, low: 0 }, text).low;
}
