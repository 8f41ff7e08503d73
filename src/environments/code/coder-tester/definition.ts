/**
 * A coder and a tester (AT-GRPO, arXiv 2510.11062, section 3.3 of its code): each revises its work if program and test
 * differ.
 */
import type { CodeProblem } from "../../../data/problem.ts";
import type { Environment, EnvironmentDefinition, Outcome } from "../../environment.ts";
import { aboutProblem, startOf } from "../definition.ts";
import { closedSplits, findProblemIn, type ProblemSplits, taskSourceOf } from "../../problems.ts";
import { openProblems } from "../problems.ts";
import { codeTaskSchema, type CodeTask } from "../state.ts";
import { showTest } from "./generated-test.ts";
import { graderOf } from "./grader.ts";
import { observePair } from "./observe.ts";
import { pairOptions, type PairOptions } from "./options.ts";
import { pairSeats } from "./seats.ts";
import type { PairState } from "./state.ts";
import { stepPair } from "./step.ts";

export const coderTester: EnvironmentDefinition<PairOptions> = {
  name: "coder-tester",
  summary: "A coder writes a program and a tester a test; hidden tests decide.",
  options: pairOptions,
  create: async (options) => {
    const { splits, data, warnings } = await openProblems(options);
    return { ...(await pairEnvironment(options, splits)), data, warnings };
  },
  outline: (options) => pairEnvironment(options, closedSplits(options.splits)),
};

export async function pairEnvironment(
  options: PairOptions,
  splits: ProblemSplits,
): Promise<Environment<CodeTask, PairState>> {
  const find = findProblemIn(splits);
  const tasks = Object.entries(splits).map(([split, problems]) => [
    split,
    taskSourceOf(problems, (id) => ({ id })),
  ]);
  return {
    name: coderTester.name,
    runsPrograms: true,
    seats: pairSeats(await lacksSolutions(splits)),
    tasks: Object.fromEntries(tasks) as Environment<CodeTask>["tasks"],
    taskSchema: codeTaskSchema,
    about: async ({ id }) => aboutProblem(await find(id)),
    start: async (task) => startPair(task, await find(task.id)),
    observe: observePair,
    step: async (state, replies, context) =>
      stepPair(graderOf(options, await find(state.task.id), context), state, replies),
    outcome: outcomeOf,
    render: renderPair,
  };
}

export function startPair(task: CodeTask, problem: CodeProblem): PairState {
  return {
    ...startOf(task, problem),
    program: null,
    test: null,
    mismatch: null,
    hidden: null,
    done: false,
  };
}

const looked = 20;

/** Whether tests may lack a reference solution that judges them, by the first problems. */
async function lacksSolutions({ train }: ProblemSplits): Promise<boolean> {
  const count = Math.min(looked, train?.ids.length ?? 0);
  const problems: (CodeProblem | undefined)[] = [];
  for (let index = 0; index < count; index++) problems.push(await train?.at(index));
  return problems.some((problem) => problem?.solutions.length === 0);
}

/** The share of hidden tests that the last program passes; success: all, whether or not program and test agree. */
export function outcomeOf({ hidden }: PairState): Outcome {
  if (hidden === null || hidden.total === 0) return { success: false, score: 0 };
  return { success: hidden.passed === hidden.total, score: hidden.passed / hidden.total };
}

export function renderPair({ task, prompt, program, test, mismatch, hidden }: PairState): string {
  const counts = hidden === null ? [] : [`${hidden.passed} of ${hidden.total} hidden tests pass`];
  const shown = test === null ? [] : [showTest(test)];
  const differs = mismatch === null ? [] : [`on the test: ${mismatch}`];
  return [task.id, prompt.trimEnd(), program?.trimEnd() ?? "", ...shown, ...differs, ...counts]
    .filter((part) => part !== "")
    .join("\n\n");
}
