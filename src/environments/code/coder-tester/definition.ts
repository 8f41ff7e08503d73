/**
 * A coder and a tester (AT-GRPO, arXiv 2510.11062, section 3.3 of its code): each revises its work if program and test
 * differ.
 */
import type { CodeProblem } from "../../../data/problem.ts";
import type { SeatDescription, Environment, EnvironmentDefinition, Outcome } from "../../environment.ts";
import { closedSplits, findProblemIn, taskSourceOf, type ProblemSplits } from "../../problems.ts";
import { aboutProblem, startOf, openProblems } from "../definition.ts";
import { codeTaskSchema, type CodeTask } from "../state.ts";
import { showTest, graderOf } from "./grader.ts";
import { observePair } from "./observe.ts";
import { pairOptions, type PairOptions, type PairState } from "./state.ts";
import { stepPair } from "./step.ts";

/** What each seat writes: a program, a test of it, or both. */
const programForm = "Put the program into one block that starts with ```python and ends with ```.";
const testForm =
  "For a program that reads standard input, write the line `Input:` and the input in a ``` block, then the line `Output:` and " +
  "the expected output in a ``` block. For a function, write one line such as `assert f([1, 2], 3) == 6` with literal values.";
const later =
  "Where your last answer is shown with what it did, correct it if it is wrong; repeat it if it is right.";

const description = { maxTokens: 1024 };

export function pairSeats(
  isJudged: boolean,
): Readonly<Record<"coder" | "tester" | "single" | "verifier", SeatDescription>> {
  return {
    coder: {
      ...description,
      purpose: "Writes the program.",
      prompt: `You solve a programming problem in Python. ${programForm} ${later}`,
    },
    tester: {
      ...description,
      purpose: "Writes a test, which is compared with what the coder's program does.",
      prompt: `You write one test of a programming problem that others solve: choose a telling input and work out the right result. ${testForm} ${later}`,
      ...(isJudged ? { judged: true } : {}),
    },
    single: {
      ...description,
      purpose: "Writes the program alone; the episode ends when it repeats one.",
      prompt: `You solve a programming problem in Python. ${programForm} ${later}`,
      alone: "it writes the program itself",
    },
    verifier: {
      ...description,
      purpose: "Writes a program and a test of it.",
      prompt: `You solve a programming problem in Python and write one test of your program. ${programForm} ${testForm} ${later}`,
      alone: "it writes both the program and the test",
    },
  };
}

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
