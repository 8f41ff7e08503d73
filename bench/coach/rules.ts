/**
 * What a rule-based coach finds in the texts of `word-problems`: how good a seat's own work is, given what it had, and who made
 * the first mistake. Like any other coach it knows only what its prompt says.
 */
import { linesIn, valuesOf, phrases, type Operator } from "../../src/environments/word-problems/task.ts";

export interface Work {
  readonly role: string;
  readonly problem: string;
  /** What the role saw. */
  readonly observation: string;
  /** What it wrote. */
  readonly text: string;
  /** What its program printed, or why it failed. Empty: there was none. */
  readonly output: string;
}

/** From 0 to 1. */
export function quality(work: Work): number {
  if (work.role === "solver") return planQuality(work.problem, work.text);
  if (work.role === "executor") return runQuality(planIn(work.observation), work.output);
  return answerQuality(work);
}

/** The role of the first mistake that the work shows; "none". */
export function atFault(work: Work): string {
  if (planQuality(work.problem, work.role === "solver" ? work.text : planIn(work.observation)) < 1)
    return "solver";
  if (work.role === "solver") return "none";
  const output = work.role === "executor" ? work.output : outputIn(work.observation);
  if (runQuality(planIn(work.observation), output) < 1) return "executor";
  return quality(work) < 1 ? work.role : "none";
}

/** The square of the share of events that the plan takes for the right operation: a plan with one mistake is wrong. */
function planQuality(problem: string, plan: string): number {
  const events = eventsIn(problem);
  const lines = linesIn(plan.trim());
  if (lines === null || lines.length !== events.length || events.length === 0) return 0;
  const starts = lines[0]?.left === / has (\d+) /.exec(problem)?.[1];
  const chained = lines.slice(1).every(({ left }, index) => left === "abc"[index]);
  if (!starts || !chained) return 0;
  const right = lines.filter(
    ({ operator, right: by }, index) => operator === events[index]?.operator && by === events[index].by,
  );
  return (right.length / events.length) ** 2;
}

function eventsIn(problem: string): { readonly operator: Operator; readonly by: number }[] {
  const told = problem.split(/ \. then \w+ /).slice(1);
  return told.flatMap((event) => {
    const by = Number(/\d+/.exec(event)?.[0]);
    const found = Object.values(phrases).find(({ words }) => event.startsWith(words(by)));
    return found === undefined ? [] : [{ operator: found.operator, by }];
  });
}

/** Whether the program found the value of every line of the plan; a part of the values helps nobody who needs the last. */
function runQuality(plan: string, output: string): number {
  const printed = output.trim();
  if (!/^-?\d+( -?\d+)*$/.test(printed)) return 0;
  const lines = linesIn(plan);
  // Nothing to carry out: it runs, which is all that can be asked.
  if (lines === null) return 0.5;
  const values = valuesOf(lines).join(" ");
  if (printed === values) return 1;
  return values.startsWith(`${printed} `) ? 0.3 : 0.2;
}

/** Whether the answer is the last number of the output. Without one, any answer is a guess. */
function answerQuality({ observation, text }: Work): number {
  const answer = /^answer (\d+)\b/.exec(text.trim())?.[1];
  if (answer === undefined) return 0;
  const printed = outputIn(observation).split(" ");
  const last = printed.at(-1) ?? "";
  if (!/^\d+$/.test(last)) return 0.3;
  if (answer === last) return 1;
  return printed.includes(answer) ? 0.2 : 0;
}

function planIn(observation: string): string {
  return /\bplan (.*?)(?: \| output .*)?$/.exec(observation)?.[1] ?? "";
}

function outputIn(observation: string): string {
  return /\| output (.*)$/.exec(observation)?.[1] ?? "";
}
