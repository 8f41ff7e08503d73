/**
 * What the tasks consist of, each in three forms: the words of a description, Python, and a function. All numbers are
 * non-negative integers or small negative ones, for which the function and Python agree (`%` is Python's).
 */

/** A choice from one of the tables; `by` is its number, 0 if it takes none. */
export interface Operation {
  readonly name: string;
  readonly by: number;
}

interface Form<Function> {
  /** The numbers it may take; absent: none. */
  readonly numbers?: readonly number[];
  words(by: number): string;
  python(argument: string, by: number): string;
  readonly apply: (by: number) => Function;
}

type Table<Function> = Readonly<Record<string, Form<Function>>>;

const digits = [2, 3, 4, 5, 6, 7, 8, 9];

/** Of one number. Python writes them as they bind, so that an inner one needs parentheses. */
export const transforms: Table<(x: number) => number> = {
  plus: {
    numbers: digits,
    words: (by) => `plus ${by}`,
    python: (x, by) => `${x} + ${by}`,
    apply: (by) => (x) => x + by,
  },
  minus: {
    numbers: digits,
    words: (by) => `minus ${by}`,
    python: (x, by) => `${x} - ${by}`,
    apply: (by) => (x) => x - by,
  },
  times: {
    numbers: digits,
    words: (by) => `times ${by}`,
    python: (x, by) => `${x} * ${by}`,
    apply: (by) => (x) => x * by,
  },
  remainder: {
    numbers: digits,
    words: (by) => `remainder by ${by}`,
    python: (x, by) => `${x} % ${by}`,
    apply: (by) => (x) => ((x % by) + by) % by,
  },
  distance: {
    numbers: digits,
    words: (by) => `distance to ${by}`,
    python: (x, by) => `abs ( ${x} - ${by} )`,
    apply: (by) => (x) => Math.abs(x - by),
  },
  atLeast: {
    numbers: digits,
    words: (by) => `at least ${by}`,
    python: (x, by) => `max ( ${x} , ${by} )`,
    apply: (by) => (x) => Math.max(x, by),
  },
  atMost: {
    numbers: digits,
    words: (by) => `at most ${by}`,
    python: (x, by) => `min ( ${x} , ${by} )`,
    apply: (by) => (x) => Math.min(x, by),
  },
  square: { words: () => "squared", python: (x) => `${x} ** 2`, apply: () => (x) => x * x },
};

/** Which numbers of the list are kept. */
export const filters: Table<(x: number) => boolean> = {
  above: {
    numbers: digits,
    words: (by) => `above ${by}`,
    python: (x, by) => `${x} > ${by}`,
    apply: (by) => (x) => x > by,
  },
  below: {
    numbers: digits,
    words: (by) => `below ${by}`,
    python: (x, by) => `${x} < ${by}`,
    apply: (by) => (x) => x < by,
  },
  even: { words: () => "even", python: (x) => `${x} % 2 == 0`, apply: () => (x) => x % 2 === 0 },
  odd: { words: () => "odd", python: (x) => `${x} % 2 == 1`, apply: () => (x) => x % 2 === 1 },
};

export type ListAnswer = number | readonly number[];

/** What becomes of the list in the end. */
export const reductions: Table<(xs: readonly number[]) => ListAnswer> = {
  sum: {
    words: () => "sum",
    python: (xs) => `sum ( ${xs} )`,
    apply: () => (xs) => xs.reduce((total, x) => total + x, 0),
  },
  largest: {
    words: () => "largest or 0",
    python: (xs) => `max ( ${xs} , default = 0 )`,
    apply: () => (xs) => (xs.length === 0 ? 0 : Math.max(...xs)),
  },
  smallest: {
    words: () => "smallest or 0",
    python: (xs) => `min ( ${xs} , default = 0 )`,
    apply: () => (xs) => (xs.length === 0 ? 0 : Math.min(...xs)),
  },
  distinct: {
    words: () => "how many different",
    python: (xs) => `len ( set ( ${xs} ) )`,
    apply: () => (xs) => new Set(xs).size,
  },
  sorted: {
    words: () => "sorted",
    python: (xs) => `sorted ( ${xs} )`,
    apply: () => (xs) => xs.toSorted((a, b) => a - b),
  },
  reversed: {
    words: () => "backwards",
    python: (xs) => `list ( reversed ( ${xs} ) )`,
    apply: () => (xs) => xs.toReversed(),
  },
};

/** @throws TypeError if the table has no such operation: tasks are checked by their schema first */
export function formOf<Function>(table: Table<Function>, { name }: Operation): Form<Function> {
  const form = Object.hasOwn(table, name) ? table[name] : undefined;
  if (form === undefined) throw new TypeError(`no operation ${name}`);
  return form;
}
