/**
 * Examples for a supervised warm start, from training tasks. They teach what can be written, not what helps: coders often
 * repeat their program in spite of a case, and testers choose a number without checking whether it is kept.
 */
import { childKey, drawFloat, drawInt, generatorOf, type Generator, type Key } from "../../random.ts";
import type { PairState } from "../code/coder-tester/state.ts";
import { startPair } from "../code/coder-tester/definition.ts";
import type { Demonstration } from "../environment.ts";
import { answer } from "../list-programs/task.ts";
import { problemOf } from "./grader.ts";
import { observeCases } from "./observe.ts";
import {
  caseNumbers,
  caseOf,
  drawTask,
  isTelling,
  numberOf,
  numbers,
  programOf,
  spaced,
  statementOf,
  withNumber,
  type Task,
} from "./task.ts";

export interface DemonstrationOptions {
  /** How often a coder that sees a case concludes the number from it, instead of repeating its program. */
  readonly concludes: number;
}

/** Of the examples, those after the first turn; and of these, those with a case. Most of what has to be learned is in these. */
const begun = 0.75;
const withCase = 0.8;

export function demonstrate(
  options: DemonstrationOptions,
  key: Key,
  seats: readonly string[],
): Demonstration[] {
  const generator = generatorOf(childKey(key, "example"));
  const task = drawTask("train", childKey(key, "task"));
  const seat = seats[drawInt(generator, seats.length)] as string;
  const pair = drawFloat(generator) < begun ? begunPair(task, generator) : startOf(task);
  const action = seat === "tester" ? anyCase(task, generator) : programAfter(options, task, pair, generator);
  return [{ seat, observation: observeCases(task, pair, seat), action }];
}

function startOf(task: Task): PairState {
  const statement = statementOf(task, true);
  return startPair({ id: statement }, problemOf(task, statement));
}

/** After a wrong guess, with a case that tells something or, as after an invalid one, without. */
function begunPair(task: Task, generator: Generator): PairState {
  const guess = withNumber(task, anyNumber(generator, numberOf(task)));
  const written = { ...startOf(task), program: programOf(guess) };
  if (drawFloat(generator) >= withCase) return written;
  const telling = caseNumbers.filter((each) => isTelling(task, each));
  const number = telling[drawInt(generator, telling.length)] ?? 1;
  const source = caseOf(number, answer(task, [number]));
  const mismatch = `got ${spaced(answer(guess, [number]))}`;
  return { ...written, test: { kind: "assertion", source, call: null }, mismatch };
}

function programAfter(
  { concludes }: DemonstrationOptions,
  task: Task,
  { program, test }: PairState,
  generator: Generator,
): string {
  if (test === null) return programOf(withNumber(task, anyNumber(generator)));
  return drawFloat(generator) < concludes || program === null ? programOf(task) : program;
}

function anyCase(task: Task, generator: Generator): string {
  const number = caseNumbers[drawInt(generator, caseNumbers.length)] as number;
  return caseOf(number, answer(task, [number]));
}

function anyNumber(generator: Generator, except?: number): number {
  const left = numbers.filter((number) => number !== except);
  return left[drawInt(generator, left.length)] as number;
}
