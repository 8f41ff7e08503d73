/** The words of statements, programs, cases and observations. */
import { filters, transforms, type Operation } from "../list-programs/operations.ts";
import { answer } from "../list-programs/task.ts";
import {
  bounds,
  caseNumbers,
  caseOf,
  keptReductions,
  programOf,
  statementOf,
  type Numbered,
  type Task,
} from "./task.ts";

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
