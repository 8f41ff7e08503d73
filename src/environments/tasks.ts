/** Where tasks come from: a finite list, such as a data set, or an endless space from which they are drawn by key. */
import { childKey, generatorOf, keyAt, rootKey, shuffled } from "../random.ts";
import type { Key } from "../random.ts";
import { TroupeError } from "../errors.ts";
import { retrying, standardRetries, type RetryOptions } from "../calls/retry.ts";
import type { Awaitable, EndlessTasks, FiniteTasks, TaskSource } from "./environment.ts";

/** A finite source of tasks in memory. */
export function taskList<Task>(tasks: readonly Task[]): FiniteTasks<Task> {
  if (!Array.isArray(tasks)) throw new TroupeError("bad_arguments", "tasks: expected an array.");
  return { size: tasks.length, at: (index) => tasks[index] as Task };
}

interface DrawnOptions<Task> {
  readonly splits?: readonly GameSplit[] | undefined;
  readonly identity?: (task: Task) => string;
}

/** The splits of a game: endless spaces that `draw` keeps apart by the split's name. */
export function drawnSplits<Task>(
  draw: (split: GameSplit, key: Key) => Task,
  { splits = ["train", "validation", "heldOut"], ...rest }: DrawnOptions<Task> = {},
): Record<GameSplit, EndlessTasks<Task>> {
  const sources = splits.map((split) => [
    split,
    { size: null, draw: (key: Key) => draw(split, key), ...rest },
  ]);
  return Object.fromEntries(sources) as Record<GameSplit, EndlessTasks<Task>>;
}

export type GameSplit = "train" | "validation" | "heldOut";

interface WithTasks<Task> {
  readonly name: string;
  readonly tasks: Readonly<Record<string, TaskSource<Task>>>;
}

/** @throws TroupeError `bad_arguments` if the environment has no such split */
export function sourceOf<Task>({ name, tasks }: WithTasks<Task>, split: string): TaskSource<Task> {
  const source = Object.hasOwn(tasks, split) ? tasks[split] : undefined;
  if (source !== undefined) return source;
  const known = Object.keys(tasks).join(", ");
  throw new TroupeError("bad_arguments", `${name} has no split ${split}; its splits are ${known}`);
}

/**
 * The tasks of training. A finite source is visited once per epoch, each epoch in its own order.
 * @returns the task of an episode: by the number of tasks drawn before it, or for an endless source by the episode's
 * key
 */
export function trainingTasks<Task>(
  source: TaskSource<Task>,
  root: Key,
): (drawn: number, key: Key) => Awaitable<Task> {
  if (source.size === null) return (_, key) => source.draw(key);
  const { size } = source;
  const orders = new Map<number, readonly number[]>();
  return (drawn) => {
    const epoch = Math.floor(drawn / size);
    const order = orders.get(epoch) ?? epochOrder(size, childKey(root, epoch));
    orders.set(epoch, order);
    return source.at(order[drawn % size] as number);
  };
}

function epochOrder(size: number, key: Key): readonly number[] {
  return shuffled(
    generatorOf(key),
    Array.from({ length: size }, (_, index) => index),
  );
}

/** A task with its number in the split. */
export interface NumberedTask<Task> {
  readonly index: number;
  readonly task: Task;
}

/** The key of evaluation tasks, whatever a recipe's seed: runs with other seeds are measured on the same tasks. */
export const evaluationSeed = 0;
/** Draws per task of an endless source without finding a new one after which it counts as exhausted. */
const fruitless = 20;

/**
 * The first `count` distinct tasks of a split: the same for every team, run and seed. Fewer if the source has fewer; an
 * endless one counts as exhausted after many draws without a new task.
 */
export async function evaluationTasks<Task>(
  environment: WithTasks<Task>,
  split: string,
  count: number,
  retries: RetryOptions = standardRetries,
): Promise<NumberedTask<Task>[]> {
  const tasks: NumberedTask<Task>[] = [];
  if (count === 0) return tasks;
  for await (const task of distinctTasks(environment, split, retries)) {
    if (tasks.push(task) === count) break;
  }
  return tasks;
}

/**
 * The distinct tasks of a split in the order in which evaluations take them. A task's index is its number in a finite
 * source, and that of its draw in an endless one.
 * @throws TroupeError `bad_arguments` if the environment has no such split
 */
export async function* distinctTasks<Task>(
  environment: WithTasks<Task>,
  split: string,
  retries: RetryOptions = standardRetries,
): AsyncGenerator<NumberedTask<Task>> {
  const source = sourceOf(environment, split);
  const found = new Set<string>();
  let last = 0;
  for (let index = 0; ; index++) {
    if (source.size === null ? index - last > fruitless * (found.size + 50) : index >= source.size) return;
    const task = await retrying(() => taskAt(source, split, index), retries);
    const identity = identityOf(source, task);
    if (found.has(identity)) continue;
    found.add(identity);
    last = index;
    yield { index, task };
  }
}

/** What tells the tasks of a source apart. */
export function identityOf<Task>(source: TaskSource<Task>, task: Task): string {
  return (source.size === null ? source.identity?.(task) : undefined) ?? JSON.stringify(task);
}

/**
 * The task with a number: what `distinctTasks` calls its index.
 * @throws TroupeError `bad_arguments` if a finite source has no task with this number
 */
export function taskAt<Task>(source: TaskSource<Task>, split: string, index: number): Awaitable<Task> {
  if (source.size === null)
    return source.draw(keyAt(rootKey(evaluationSeed), pathName(split), index, "task"));
  if (index < source.size) return source.at(index);
  throw new TroupeError(
    "bad_arguments",
    `the split ${split} has ${source.size} tasks, from 0 on; there is no task ${index}`,
  );
}

/** The key of a task's episode in an evaluation with the usual seed. */
export function evaluationKey(split: string, index: number): Key {
  return keyAt(rootKey(evaluationSeed), pathName(split), index);
}

/** A split's name in the paths of keys and of evaluated episodes. */
export function pathName(split: string): string {
  return split === "heldOut" ? "held-out" : split;
}
