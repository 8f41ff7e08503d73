/** Programming in teams: a helper and a main coder write a function together (MAGRPO, arXiv 2508.04652). */
import { codeProblem, type CodeProblem } from "../../data/problem.ts";
import { sourceWarnings, taskSources } from "../../data/task-sources.ts";
import type {
  OptionWarning,
  Environment,
  EnvironmentDefinition,
  Outcome,
  TaskDescription,
} from "../environment.ts";
import { problemsOf, closedSplits, findProblemIn, taskSourceOf, type ProblemSplits } from "../problems.ts";
import { checkExpert } from "./experts/expert.ts";
import { observationOf, renderState } from "./observe.ts";
import { checkedOptions, type CodeOptions } from "./options.ts";
import { seatDescriptions, codeTaskSchema, type SeatName, type CodeState, type CodeTask } from "./state.ts";
import { endTurnOf, stepState } from "./step.ts";

/** Warnings about the options before training. */
export function optionWarnings(options: CodeOptions): readonly OptionWarning[] {
  return leakedTests(options);
}

/** The default of MAGRPO's first code. */
function leakedTests({ feedback, sandboxSlice }: CodeOptions): readonly OptionWarning[] {
  const shows = !["plain", "partner", "expert_edits"].includes(feedback);
  if (!shows || (sandboxSlice !== null && sandboxSlice !== 0)) return [];
  const problem = "feedback in later turns comes from all the tests that pay, so their answers can be copied";
  return [{ key: "sandboxSlice", problem, fix: "show a few of them, such as `sandboxSlice: 1`" }];
}

/** The programming problems of each split. */
export interface OpenProblems {
  readonly splits: ProblemSplits;
  readonly data: NonNullable<Environment["data"]>;
  readonly warnings: readonly OptionWarning[];
}

/** @throws TroupeError `bad_data` if the data set is not available, `bad_arguments` for slices that share a row */
export async function openProblems({
  dataset,
  splits,
}: Pick<CodeOptions, "dataset" | "splits">): Promise<OpenProblems> {
  const sources = await taskSources({ dataset, splits });
  const data = Object.fromEntries(Object.entries(sources).map(([split, { origin }]) => [split, origin]));
  return {
    splits: await problemsOf(sources, codeProblem),
    data,
    warnings: await sourceWarnings(sources, "dataset"),
  };
}

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
