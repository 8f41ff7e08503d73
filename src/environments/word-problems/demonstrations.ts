/**
 * Examples for a supervised warm start, from training tasks: deliberately poor ones, of which a share has a mistake that looks
 * like good work. What a seat sees in an example comes from partners that make mistakes as often.
 */
import { childKey, drawFloat, drawInt, generatorOf, type Generator, type Key } from "../../random.ts";
import type { Demonstration } from "../environment.ts";
import { observationOf, type SeatName, type WordState } from "./step.ts";
import {
  linesOf,
  planOf,
  programOf,
  valuesOf,
  operators,
  drawnFrom,
  drawTask,
  largest,
  type CalculationLine,
  type Task,
} from "./task.ts";

export interface DemonstrationOptions {
  /** How often each seat makes a mistake. */
  readonly mistakes: Readonly<Record<SeatName, number>>;
  /** How often a text ends with the claim that it was checked. */
  readonly claims: number;
}

export function demonstrate(
  options: DemonstrationOptions,
  key: Key,
  seats: readonly string[],
): Demonstration[] {
  const generator = generatorOf(childKey(key, "example"));
  const task = drawTask("train", childKey(key, "task"));
  const seat = seats[drawInt(generator, seats.length)] as SeatName;
  const lines = planned(task, options.mistakes.solver, generator);
  const run = programmed(lines, options.mistakes.executor, generator);
  const values = valuesOf(run);
  const texts = {
    solver: planOf(lines) + claim(options, " checked", generator),
    executor: programOf(run) + claim(options, " # checked", generator),
    verifier:
      said(task, values, options.mistakes.verifier, generator) + claim(options, " checked", generator),
  };
  const state: WordState = { task, plan: texts.solver, program: null, output: printed(values), said: null };
  return [{ seat, observation: observationOf(state, seat), action: texts[seat] }];
}

function claim({ claims }: DemonstrationOptions, text: string, generator: Generator): string {
  return drawFloat(generator) < claims ? text : "";
}

/** A mistake of the solver: one event is taken for another operation. */
function planned(task: Task, mistakes: number, generator: Generator): CalculationLine[] {
  const lines = linesOf(task);
  if (drawFloat(generator) >= mistakes) return lines;
  return withOther(lines, drawInt(generator, lines.length), generator);
}

/** A mistake of the executor: another operator in one line, or the last line is left out. */
function programmed(
  lines: readonly CalculationLine[],
  mistakes: number,
  generator: Generator,
): CalculationLine[] {
  if (drawFloat(generator) >= mistakes) return [...lines];
  if (lines.length > 1 && drawFloat(generator) < 0.5) return lines.slice(0, -1);
  return withOther(lines, drawInt(generator, lines.length), generator);
}

function withOther(lines: readonly CalculationLine[], at: number, generator: Generator): CalculationLine[] {
  const others = operators.filter((one) => one !== lines[at]?.operator);
  return lines.map((line, index) =>
    index === at ? { ...line, operator: drawnFrom(others, generator) } : line,
  );
}

/** A mistake of the verifier: a number of an earlier line, or one of the problem. */
function said(task: Task, values: readonly number[], mistakes: number, generator: Generator): string {
  const last = values.at(-1) ?? 0;
  const others = [...values.slice(0, -1), task.start, ...task.events.map(({ by }) => by)];
  const number = drawFloat(generator) < mistakes ? drawnFrom(others, generator) : last;
  return `answer ${number >= 0 && number <= largest ? number : 0}`;
}

function printed(values: readonly number[]): string {
  return values.join(" ");
}
