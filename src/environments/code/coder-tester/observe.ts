/**
 * The observations of coder and tester: the problem, and from the second turn on the program, the test and how they
 * differ.
 */
import { fenced } from "../../../text/fences.ts";
import { problemOf, signatureOf } from "../observe.ts";
import { showTest } from "./grader.ts";
import type { PairState } from "./state.ts";

export function observePair(state: PairState, seat: string): string {
  const { program, test } = state;
  const parts = [problemOf(state), taskOf(state, seat)];
  if (program !== null) parts.push(`The last program:\n\n${fenced(program)}`);
  if (test !== null && seat !== "single") parts.push(`The last test:\n\n${fenced(showTest(test), "")}`);
  if (program !== null && test !== null && seat !== "single")
    parts.push(
      state.mismatch === null
        ? "They agree."
        : `They do not agree. The program on the test: ${state.mismatch}`,
    );
  return parts.join("\n\n");
}

function taskOf(state: PairState, seat: string): string {
  const isFunction = state.entryPoint !== "";
  if (seat === "tester")
    return isFunction
      ? `Test the function:\n\n${signatureOf(state)}`
      : "Test a program that reads standard input.";
  return isFunction
    ? `Write the function:\n\n${signatureOf(state)}`
    : "Write a whole program that reads standard input and prints its answer.";
}
