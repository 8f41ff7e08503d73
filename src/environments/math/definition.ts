/** Mathematics problems with final answers: a reasoner writes a solution, and its answer is verified. */
import type { MathProblem } from "../../data/math-problem.ts";
import type { Environment, EnvironmentDefinition } from "../environment.ts";
import { closedSplits, findProblemIn, taskSourceOf, type ProblemSplits } from "../problems.ts";
import { observationOf } from "./observe.ts";
import { mathOptions, type MathOptions } from "./options.ts";
import { openMathProblems } from "./problems.ts";
import { seatDescriptions } from "./seats.ts";
import { mathTaskSchema, type MathState, type MathTask } from "./state.ts";
import { stepMath } from "./step.ts";

export const math: EnvironmentDefinition<MathOptions> = {
  name: "math",
  summary: "A reasoner solves mathematics problems; its final answer is verified.",
  options: mathOptions,
  create: async (options) => {
    const { splits, data, warnings } = await openMathProblems(options);
    return { ...mathEnvironment(splits), data, warnings };
  },
  outline: (options) => mathEnvironment(closedSplits(options.splits)),
};

export function mathEnvironment(splits: ProblemSplits<MathProblem>): Environment<MathTask, MathState> {
  const find = findProblemIn(splits);
  return {
    name: math.name,
    seats: seatDescriptions,
    tasks: Object.fromEntries(
      Object.entries(splits).map(([split, problems]) => [split, taskSourceOf(problems, (id) => ({ id }))]),
    ) as Environment<MathTask>["tasks"],
    taskSchema: mathTaskSchema,
    about: async ({ id }) => {
      const { prompt, answers, subject } = await find(id);
      const truth = answers.join(" or ");
      return { problem: prompt, truth, ...(subject === undefined ? {} : { type: subject }) };
    },
    start: async (task) => ({ task, prompt: (await find(task.id)).prompt, solution: null }),
    observe: (state) => observationOf(state),
    step: async (state, replies, context) => {
      const { answers } = await find(state.task.id);
      return stepMath(state, answers, replies, context);
    },
    outcome: ({ solution }) => ({
      success: solution?.isCorrect === true,
      score: solution?.isCorrect === true ? 1 : 0,
    }),
    render: renderState,
  };
}

function renderState({ task, prompt, solution }: MathState): string {
  if (solution === null) return `${task.id}\n\n${prompt}`;
  const verdict = solution.isCorrect ? "correct" : "not correct";
  const answer = solution.answer === null ? "no answer" : `answer ${solution.answer}: ${verdict}`;
  return `${task.id}\n\n${prompt}\n\n${solution.text.trimEnd()}\n\n${answer}`;
}
