/**
 * A task: one of `list-programs` whose last change is a bound. The coder's statement leaves the bound's number out, the
 * tester's has it.
 */
import { childKey, drawInt, generatorOf, type Generator, type Key } from "../../random.ts";
import {
  filters,
  formOf,
  reductions,
  transforms,
  type ListAnswer,
  type Operation,
} from "../list-programs/operations.ts";
import { described, solved } from "../list-programs/programs.ts";
import { answer, isVaried, splitOf, taskSchema as listTask, type Task } from "../list-programs/task.ts";
import type { GameSplit } from "../tasks.ts";

export type { Task } from "../list-programs/task.ts";

/** Bounds, whose number one case can show, and the changes that may precede them. */
export const bounds: Readonly<Record<string, readonly string[]>> = {
  atLeast: ["minus"],
  atMost: ["plus", "times", "square"],
};
/** Reductions that leave a single number as it is. */
export const keptReductions = Object.keys(reductions).filter((name) => name !== "distinct");

export const taskSchema = listTask.refine(isTask, { error: "no task of list-cases" });

function isTask(task: Task): boolean {
  const { name = "" } = task.transforms.at(-1) ?? {};
  const before = task.transforms.slice(0, -1);
  return (
    Object.hasOwn(bounds, name) &&
    before.every((one) => bounds[name]?.includes(one.name)) &&
    keptReductions.includes(task.reduction.name)
  );
}

/** The numbers of which a tester may choose one: the list of its case. Every filter keeps some and drops others. */
export const caseNumbers: readonly number[] = [1, 2, 11, 12];

/** Every task has a case that tells the number. */
export function drawTask(split: GameSplit, key: Key): Task {
  for (let attempt = 0; ; attempt++) {
    const task = anyTask(generatorOf(childKey(key, attempt)));
    const isTold = caseNumbers.some((number) => isTelling(task, number));
    if (isTold && splitOf(task) === split && isVaried(task)) return task;
  }
}

function anyTask(generator: Generator): Task {
  const bound = operation(generator, transforms, Object.keys(bounds));
  const before = bounds[bound.name] ?? [];
  return {
    filter: operation(generator, filters, Object.keys(filters)),
    transforms: drawInt(generator, 2) === 0 ? [bound] : [operation(generator, transforms, before), bound],
    reduction: operation(generator, reductions, keptReductions),
  };
}

export type Numbered = Readonly<Record<string, { readonly numbers?: readonly number[] }>>;

function operation(generator: Generator, table: Numbered, names: readonly string[]): Operation {
  const name = names[drawInt(generator, names.length)] as string;
  const { numbers = [0] } = table[name] ?? {};
  return { name, by: numbers[drawInt(generator, numbers.length)] as number };
}

/** The same task with another number. */
export function withNumber(task: Task, by: number): Task {
  const last = task.transforms.at(-1);
  const bound = last === undefined ? [] : [{ ...last, by }];
  return { ...task, transforms: [...task.transforms.slice(0, -1), ...bound] };
}

/** What the coder does not know. */
export function numberOf(task: Task): number {
  return task.transforms.at(-1)?.by ?? 0;
}

export const numbers: readonly number[] = formOf(transforms, { name: "plus", by: 0 }).numbers ?? [];

/** "numbers above 3 ; at most 7 ; sum", and without the number "numbers above 3 ; at most ? ; sum". */
export function statementOf(task: Task, isWhole: boolean): string {
  if (isWhole) return described(task);
  return described(withNumber(task, Number.NaN)).replace("NaN", "?");
}

/** "def solve ( xs ) : return sum ( [ min ( x , 7 ) for x in xs if x > 3 ] )" */
export function programOf(task: Task): string {
  const { helper } = solved(task, "list");
  const list = helper.slice(helper.indexOf("["));
  return `def solve ( xs ) : return ${formOf(reductions, task.reduction).python(list, 0)}`;
}

/** Whether a case with this number tells anything about the coder's number: another one would give another result. */
export function isTelling(task: Task, number: number): boolean {
  const results = numbers.map((by) => JSON.stringify(answer(withNumber(task, by), [number])));
  return new Set(results).size > 1;
}

/** "assert solve ( [ 12 ] ) == 7" */
export function caseOf(number: number, result: ListAnswer): string {
  return `assert solve ( [ ${number} ] ) == ${spaced(result)}`;
}

/** "[ 1 , 2 ]" */
export function spaced(result: unknown): string {
  return JSON.stringify(result)
    .replaceAll(/[[\],]/g, " $& ")
    .trim()
    .replaceAll(/ +/g, " ");
}

const seen = "coder tester single : | program case got fails [ ] ,";

export const words: readonly string[] = [
  ...new Set([seen, ...everyOperation().flatMap(textsOf)].flatMap((text) => text.split(" "))),
];

function textsOf(task: Task): string[] {
  const cases = caseNumbers.map((number) => caseOf(number, answer(task, [number])));
  return [statementOf(task, true), statementOf(task, false), programOf(task), ...cases];
}

/** Each bound after each change, of even and of odd numbers; each filter and each reduction with one bound. */
function everyOperation(): Task[] {
  const [even, sum] = [plain("even"), plain("sum")];
  const changed = Object.entries(bounds).flatMap(([bound, changes]) =>
    allOf(transforms, [bound]).flatMap((one) => [
      [one],
      ...allOf(transforms, changes).map((first) => [first, one]),
    ]),
  );
  const [one = []] = changed;
  return [
    ...changed.flatMap((each) =>
      [even, plain("odd")].map((filter) => ({ filter, transforms: each, reduction: sum })),
    ),
    ...allOf(filters, Object.keys(filters)).map((filter) => ({ filter, transforms: one, reduction: sum })),
    ...keptReductions.map((name) => ({ filter: even, transforms: one, reduction: plain(name) })),
  ];
}

function plain(name: string): Operation {
  return { name, by: 0 };
}

function allOf(table: Numbered, names: readonly string[]): Operation[] {
  return names.flatMap((name) => (table[name]?.numbers ?? [0]).map((by) => ({ name, by })));
}
