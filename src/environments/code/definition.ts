/** Programming in teams: a helper and a main coder write a function together (MAGRPO, arXiv 2508.04652). */
import type { Environment, EnvironmentDefinition, Outcome, TaskDescription } from "../environment.ts";
import { checkExpert } from "./experts/expert.ts";
import { observationOf } from "./observe.ts";
import { checkedOptions, type CodeOptions } from "./options.ts";
import type { CodeProblem } from "../../data/problem.ts";
import { closedSplits, findProblemIn, type ProblemSplits, taskSourceOf } from "../problems.ts";
import { openProblems } from "./problems.ts";
import { renderState } from "./render.ts";
import { seatDescriptions, type SeatName } from "./seats.ts";
import { codeTaskSchema, type CodeState, type CodeTask } from "./state.ts";
import { endTurnOf, stepState } from "./step.ts";
import { optionWarnings } from "./warnings.ts";

export const code: EnvironmentDefinition<CodeOptions> = {
  name: "code",
  summary: "A helper and a main coder write a Python function together; its tests decide.",
  options: checkedOptions,
  create: async (options) => {
    const { splits, data, warnings } = await openProblems(options);
    const environment = codeEnvironment(options, splits);
    return { ...environment, data, warnings: [...(environment.warnings ?? []), ...warnings] };
  },
  outline: (options) => codeEnvironment(options, closedSplits(options.splits)),
};

export function codeEnvironment(
  options: CodeOptions,
  splits: ProblemSplits,
): Environment<CodeTask, CodeState> {
  const find = findProblemIn(splits);
  return {
    name: code.name,
    runsPrograms: true,
    seats: seatDescriptions,
    tasks: Object.fromEntries(
      Object.entries(splits).map(([split, problems]) => [split, taskSourceOf(problems, (id) => ({ id }))]),
    ) as Environment<CodeTask>["tasks"],
    checkMachine: () => checkExpert(options),
    warnings: optionWarnings(options),
    taskSchema: codeTaskSchema,
    about: async ({ id }) => aboutProblem(await find(id)),
    start: async (task) => startState(task, await find(task.id)),
    observe: (state, seat) => observationOf(options, state, seat as SeatName),
    step: async (state, replies, context) =>
      stepState(options, await find(state.task.id), state, replies, context),
    endTurn: endTurnOf,
    outcome: outcomeOf,
    render: renderState,
  };
}

export function startState(task: CodeTask, problem: CodeProblem): CodeState {
  return { ...startOf(task, problem), written: {}, paid: 0, attempt: null };
}

export function aboutProblem({ prompt, solutions }: CodeProblem): TaskDescription {
  const [truth] = solutions;
  return truth === undefined ? { problem: prompt } : { problem: prompt, truth };
}

/** The problem as far as the seats see it. */
export function startOf(task: CodeTask, problem: CodeProblem): Asked {
  const { prompt, entryPoint } = problem;
  const starter = problem.starter === undefined || problem.starter === prompt ? null : problem.starter;
  return { task, prompt, entryPoint: entryPoint ?? "", starter, example: exampleOf(problem) };
}

type Asked = Pick<CodeState, "task" | "prompt" | "entryPoint" | "starter" | "example">;

/** If nothing else shows the function's parameters. */
function exampleOf({ shownTests }: CodeProblem): string | null {
  return shownTests?.kind === "asserts" ? (shownTests.asserts[0] ?? null) : null;
}

/** For the last program: the share of all tests that it passes. */
export function outcomeOf({ attempt }: CodeState): Outcome {
  const tests = attempt?.tests ?? null;
  if (tests === null || tests.total === 0) return { success: false, score: 0 };
  return { success: tests.passed === tests.total, score: tests.passed / tests.total };
}
