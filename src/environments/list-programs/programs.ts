/**
 * A task in words, and in Python in four divisions of labour: the helper changes one number, selects numbers of the list, does
 * both, or reduces the list, and the main coder does the rest. The two halves of one division fit together; those of
 * different ones do not.
 */
import { filters, formOf, reductions, transforms, type Operation } from "./operations.ts";
import type { Task } from "./task.ts";

export const divisions = ["number", "selection", "list", "result"] as const;

/** What the helper makes. */
export type Division = (typeof divisions)[number];

interface Halves {
  readonly helper: string;
  readonly main: string;
}

/** "numbers above 3 ; plus 2 then times 4 ; sum" */
export function described(task: Task): string {
  const changes = task.transforms.map((one) => formOf(transforms, one).words(one.by)).join(" then ");
  return [`numbers ${wordsOf(filters, task.filter)}`, changes, wordsOf(reductions, task.reduction)].join(
    " ; ",
  );
}

/** The function `aux`, and the function `solve`, which calls it; one line each. */
export function solved(task: Task, division: Division): Halves {
  return halvesOf[division](changed(task), formOf(filters, task.filter).python("x", task.filter.by), (list) =>
    formOf(reductions, task.reduction).python(list, task.reduction.by),
  );
}

/** The function `solve` without a helper. */
export function whole(task: Task): string {
  const { filter, reduction } = task;
  const kept = formOf(filters, filter).python("x", filter.by);
  const result = formOf(reductions, reduction).python("ys", reduction.by);
  return `def solve ( xs ) : ys = [ ${changed(task)} for x in xs if ${kept} ] ; return ${result}`;
}

/** From the changed number, the condition on `x`, and the reduction of a list. */
type HalvesOf = (change: string, kept: string, reduce: (list: string) => string) => Halves;

const halvesOf: Readonly<Record<Division, HalvesOf>> = {
  number: (change, kept, reduce) => halves("x", change, `[ aux ( x ) for x in xs if ${kept} ]`, reduce("ys")),
  selection: (change, kept, reduce) =>
    halves("xs", `[ x for x in xs if ${kept} ]`, "aux ( xs )", reduce(`[ ${change} for x in ys ]`)),
  list: (change, kept, reduce) =>
    halves("xs", `[ ${change} for x in xs if ${kept} ]`, "aux ( xs )", reduce("ys")),
  result: (change, kept, reduce) =>
    halves("ys", reduce("ys"), `[ ${change} for x in xs if ${kept} ]`, "aux ( ys )"),
};

function halves(argument: string, made: string, list: string, result: string): Halves {
  return {
    helper: `def aux ( ${argument} ) : return ${made}`,
    main: `def solve ( xs ) : ys = ${list} ; return ${result}`,
  };
}

/** "( x + 2 ) * 4" */
function changed(task: Task): string {
  return task.transforms.reduce((inner, one) => {
    const argument = inner === "x" ? inner : `( ${inner} )`;
    return formOf(transforms, one).python(argument, one.by);
  }, "x");
}

function wordsOf(table: typeof filters | typeof reductions, one: Operation): string {
  return (table[one.name] as (typeof filters)[string]).words(one.by);
}
