/** A calculation in lines, as the solver's plan and as the executor's program. */
import { apply, operators, type Operator } from "./phrases.ts";
import { operatorOf, type Task } from "./task.ts";

export const variables = ["a", "b", "c"] as const;

/** "b = a * 4": a line starts from the number of the task, or from the variable of an earlier line. */
export interface CalculationLine {
  readonly left: string;
  readonly operator: Operator;
  readonly right: number;
}

export function linesOf({ start, events }: Task): CalculationLine[] {
  return events.map((one, index) => ({
    left: variables[index - 1] ?? String(start),
    operator: operatorOf(one),
    right: one.by,
  }));
}

/** "a = 7 + 5 ; b = a / 3" */
export function planOf(lines: readonly CalculationLine[]): string {
  return lines
    .map(({ left, operator, right }, index) => `${variables[index]} = ${left} ${operator} ${right}`)
    .join(" ; ");
}

/** "a = 7 + 5 ; b = a // 3 ; print ( a , b )" */
export function programOf(lines: readonly CalculationLine[]): string {
  const shown = variables.slice(0, lines.length).join(" , ");
  return `${planOf(lines).replaceAll("/", "//")} ; print ( ${shown} )`;
}

const written = /^([abc]) = (\d{1,3}|[abc]) ([-+*/]) (\d{1,3})$/;

/** The lines of a plan; null: it is none, or a line uses a variable that is not yet known. */
export function linesIn(plan: string): CalculationLine[] | null {
  const parts = plan.replace(/( checked)+$/, "").split(" ; ");
  if (parts.length > variables.length) return null;
  const lines = parts.map((part, index) => lineIn(part, index));
  return lines.every((line) => line !== null) ? lines : null;
}

function lineIn(text: string, index: number): CalculationLine | null {
  const [, variable, left = "", operator, right] = written.exec(text) ?? [];
  const known: readonly string[] = variables.slice(0, index);
  const isKnown = /^\d/.test(left) || known.includes(left);
  if (variable !== variables[index] || !isKnown) return null;
  const found = operators.find((one) => one === operator);
  return found === undefined ? null : { left, operator: found, right: Number(right) };
}

/** The value of each line; NaN or infinite where a program would fail. */
export function valuesOf(lines: readonly CalculationLine[]): number[] {
  const values: number[] = [];
  for (const { left, operator, right } of lines) {
    const index = variables.findIndex((name) => name === left);
    const value = index < 0 ? Number(left) : (values[index] ?? Number.NaN);
    values.push(apply[operator](value, right));
  }
  return values;
}
