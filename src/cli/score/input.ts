/** Parses and checks a line of actions to score. */
import { explain } from "../../recipes/validation/explain.ts";
import type { Path, Tree } from "../../recipes/tree.ts";
import { jsonSchemaOf } from "../../recipes/shape.ts";
import { z } from "zod";
import { command } from "../../command-line.ts";
import type { Environment, Json } from "../../environments/environment.ts";
import type { JointReplies } from "../../environments/score.ts";
import { evaluationKey, sourceOf, taskAt } from "../../environments/tasks.ts";
import { TroupeError } from "../../errors.ts";
import { keyAt, rootKey, type Key } from "../../random.ts";
import { parseReply, type Reply } from "../../text/replies.ts";

const call = z.strictObject({
  name: z.string(),
  arguments: z.record(z.string(), z.json()),
  id: z.string().optional(),
  /** Of a malformed call: what is wrong. */
  error: z.string().optional(),
});

/** Qwen's and DeepSeek's thinking. A plan that only occurs in the thinking does not count. */
const [open, close] = ["<think>", "</think>"];

/** The text alone, or a reply with whatever else a model wrote. */
const reply = z.union([
  z.string(),
  z.strictObject({
    text: z.string(),
    thinking: z.string().optional(),
    calls: z.array(call).optional(),
    truncated: z.boolean().default(false),
  }),
]);

const index = z.int().min(0);

/** Other keys, such as an id, are allowed. */
const lineSchema = z.object({
  task: z.unknown().optional(),
  split: z.string().default("heldOut"),
  /** In the format of `troupe tasks`: a task that is a number is then the task itself, not an index. */
  index: index.optional(),
  actions: z.array(z.record(z.string(), reply)),
});

export interface ToScore {
  readonly task: Json;
  readonly actions: readonly JointReplies[];
  readonly key: Key;
}

/**
 * @param callers seats whose role has tools
 * @throws TroupeError `bad_arguments` if the line is invalid
 */
export async function readInput(
  environment: Environment,
  text: string,
  callers: ReadonlySet<string>,
): Promise<ToScore> {
  const line = parse(text);
  const { split, index: written } = line;
  if (line.task === undefined) {
    throw wrong(
      `task: missing; expected a task as \`${command("tasks")} RECIPE\` prints it, or its index in the split`,
    );
  }
  const actions = line.actions.map((replies) => repliesOf(replies, callers));
  const source = sourceOf(environment, split);
  if (written !== undefined || typeof line.task !== "number") {
    const task = checked(environment, line.task as Json);
    return { task, actions, key: written === undefined ? keyOf(task) : evaluationKey(split, written) };
  }
  const number = index.safeParse(line.task);
  if (!number.success) throw wrong("task: a number is an index in the split, from 0");
  const task = await taskAt(source, split, number.data);
  return { task, actions, key: evaluationKey(split, number.data) };
}

/** In a text, a role with tools calls them in the form of Hermes and Qwen. */
function repliesOf(
  written: z.output<typeof lineSchema>["actions"][number],
  callers: ReadonlySet<string>,
): JointReplies {
  const read = (seat: string, given: z.output<typeof reply>): Reply => {
    if (typeof given !== "string") return given as Reply;
    const calls = callers.has(seat) ? { calls: "hermes" as const } : {};
    return parseReply(given, { thinking: { open, close, isOpen: false }, ...calls }, false);
  };
  return Object.fromEntries(Object.entries(written).map(([seat, given]) => [seat, read(seat, given)]));
}

/** An environment given an invalid task could return nonsense, or never end. */
function checked({ taskSchema }: Environment, task: Json): Json {
  try {
    return taskSchema?.parse(task) ?? task;
  } catch (error) {
    if (!(error instanceof z.ZodError)) throw wrong(`task: ${(error as Error).message}`);
    throw wrong(explainJson(error, { task }, taskSchema, ["task"]));
  }
}

/** The same for the same task, wherever it occurs. */
function keyOf(task: Json): Key {
  return keyAt(rootKey(0), "score", JSON.stringify(task));
}

function parse(text: string): z.output<typeof lineSchema> {
  const line = json(text);
  const parsed = lineSchema.safeParse(line);
  if (parsed.success) return parsed.data;
  throw wrong(explainJson(parsed.error, line, lineSchema));
}

function json(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw wrong(`not JSON: ${(error as Error).message}`);
  }
}

function wrong(message: string): TroupeError {
  return new TroupeError("bad_arguments", message);
}

/**
 * The results of `work`, in the order of the items and as soon as available. At most `limit` items are in progress or
 * waiting to be consumed; no more are read until then.
 */
export async function* inOrder<T, R>(
  items: AsyncIterable<T>,
  limit: number,
  work: (item: T) => Promise<R>,
): AsyncGenerator<R> {
  const source = items[Symbol.asyncIterator]();
  const results: Promise<R>[] = [];
  let reading: Promise<IteratorResult<T>> | null = null;
  let ended = false;
  try {
    while (!ended || results.length > 0) {
      if (!ended && results.length < limit) reading ??= guarded(source.next());
      const first = results[0];
      if (reading === null || (first !== undefined && (await isFirst(first, reading)))) {
        yield await (first as Promise<R>);
        void results.shift();
        continue;
      }
      const item = await reading;
      reading = null;
      if (item.done === true) ended = true;
      else results.push(guarded(work(item.value)));
    }
  } finally {
    await source.return?.();
  }
}

/** Whether the one settles no later than the other. */
function isFirst(one: Promise<unknown>, other: Promise<unknown>): Promise<boolean> {
  const [yes, no] = [() => true, () => false];
  return Promise.race([one.then(yes, yes), other.then(no, no)]);
}

/** The rejection is handled later, when the promise is awaited. */
function guarded<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => {});
  return promise;
}

/**
 * The first mistake: `task.clues: missing; expected text`.
 * @param value the line
 * @param schema of the checked part of the line; for anything but a zod schema the expectation is unknown
 * @param base path of that part in the line
 */
function explainJson({ issues }: z.ZodError, value: unknown, schema: unknown, base: Path = []): string {
  const [issue] = issues;
  if (issue === undefined) return "not understood";
  const shape = schema instanceof z.ZodType ? jsonSchemaOf(schema) : {};
  const tree = treeOf(value, base.length + issue.path.length + 2);
  const [mistake] = explain([issue], tree, shape, base);
  const { key = "", problem = issue.message, fix } = mistake ?? {};
  return `${key === "" ? "" : `${key}: `}${problem}${fix === undefined ? "" : `; ${fix}`}`;
}

const origin = { kind: "override", text: "" } as const;

/** @param levels maximum depth shown */
function treeOf(value: unknown, levels: number): Tree {
  if (Array.isArray(value) && levels > 0) {
    return { kind: "sequence", origin, items: value.map((item) => treeOf(item, levels - 1)) };
  }
  if (typeof value === "object" && value !== null && levels > 0) {
    const entries = Object.entries(value).map(
      ([key, each]) => [key, { keyOrigin: origin, value: treeOf(each, levels - 1) }] as const,
    );
    return { kind: "mapping", origin, entries: new Map(entries) };
  }
  const isScalar = ["string", "number", "boolean"].includes(typeof value);
  return { kind: "scalar", origin, value: isScalar ? (value as string | number | boolean) : null };
}
