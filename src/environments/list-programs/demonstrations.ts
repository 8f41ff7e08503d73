/** Solved examples for a supervised warm start, from training tasks, and the words of tasks and programs. */
import { childKey, drawInt, generatorOf, type Generator, type Key } from "../../random.ts";
import type { SeatName } from "../code/state.ts";
import type { Demonstration } from "../environment.ts";
import { observationOf } from "./observe.ts";
import { filters, reductions, transforms, type Operation } from "./operations.ts";
import { described, divisions, solved, whole, type Division } from "./programs.ts";
import { drawTask, type Task } from "./task.ts";

/** What a seat knows of its partner's code: nothing; what the partner wrote just now; both seats' last code. */
export const situations = ["together", "after", "revision"] as const;
type Situation = (typeof situations)[number];

interface Shown {
  readonly divisions: readonly Division[];
  readonly situations: readonly Situation[];
}

/** One example, for one of the requested seats, in one of the divisions and situations, each as likely as the others. */
export function demonstrate(shown: Shown, key: Key, seats: readonly SeatName[]): Demonstration[] {
  const generator = generatorOf(childKey(key, "division"));
  const task = drawTask("train", childKey(key, "task"));
  const seat = seats[drawInt(generator, seats.length)] as SeatName;
  if (seat === "single") return [{ seat, observation: described(task), action: whole(task) }];
  const division = drawnFrom(shown.divisions, generator);
  const others = generatorOf(childKey(key, "situation"));
  const { observation, result } = situated(task, seat, division, shown, others);
  return [{ seat, observation, action: solved(task, result)[seat] }];
}

/**
 * In a revision of halves that do not fit, keeping one's own division and changing to the partner's are as likely:
 * nothing determines which of them gives way.
 */
function situated(
  task: Task,
  seat: "helper" | "main",
  division: Division,
  shown: Shown,
  generator: Generator,
): { readonly observation: string; readonly result: Division } {
  const situation = drawnFrom(shown.situations, generator);
  if (situation === "revision") {
    const theirs = drawnFrom(shown.divisions, generator);
    const last = {
      [seat]: solved(task, division)[seat],
      [partner[seat]]: solved(task, theirs)[partner[seat]],
    };
    return {
      observation: observationOf(task, {}, last, seat),
      result: drawnFrom([division, theirs], generator),
    };
  }
  // The helper writes first.
  const written = situation === "after" && seat === "main" ? { helper: solved(task, division).helper } : {};
  return { observation: observationOf(task, written, undefined, seat), result: division };
}

const partner = { helper: "main", main: "helper" } as const;

function drawnFrom<Item>(items: readonly Item[], generator: Generator): Item {
  return items[drawInt(generator, items.length)] as Item;
}

/** All words of all tasks: each operation in one task, for the others the first. */
export function words(): readonly string[] {
  const texts = everyOperation().flatMap((task) => [
    described(task),
    ...divisions.flatMap((division) => Object.values(solved(task, division))),
  ]);
  return [...new Set(texts.flatMap((text) => text.split(" ")))];
}

function everyOperation(): Task[] {
  const [filter, transform, reduction] = [all(filters)[0], all(transforms)[0], all(reductions)[0]];
  if (filter === undefined || transform === undefined || reduction === undefined) return [];
  return [
    ...all(filters).map((one) => ({ filter: one, transforms: [transform, transform], reduction })),
    ...all(transforms).map((one) => ({ filter, transforms: [one, one], reduction })),
    ...all(reductions).map((one) => ({ filter, transforms: [transform], reduction: one })),
  ];
}

function all(table: Readonly<Record<string, { readonly numbers?: readonly number[] }>>): Operation[] {
  return Object.entries(table).flatMap(([name, { numbers = [0] }]) => numbers.map((by) => ({ name, by })));
}
