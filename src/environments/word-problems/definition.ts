/**
 * Arithmetic word problems by three seats in a chain, for models trained from scratch: the solver plans the calculation, the
 * executor writes it as a Python program, which is run, and the verifier answers with what it printed. Each can spoil
 * what the others did well, and the environment rewards only the answer.
 */
import { z } from "zod";
import type { Environment, EnvironmentDefinition, Oracle } from "../environment.ts";
import { drawnSplits } from "../tasks.ts";
import { demonstrate } from "./demonstrations.ts";
import { observationOf, isSolved, stepWords, type WordState } from "./step.ts";
import {
  linesIn,
  linesOf,
  planOf,
  programOf,
  answer,
  calculationOf,
  described,
  drawTask,
  taskSchema,
  words,
  type Task,
} from "./task.ts";

const share = z.number().min(0).max(1);

const options = z.strictObject({
  mistakes: z
    .strictObject({
      solver: share.default(0.55).describe("… the solver takes an event for another operation."),
      executor: share
        .default(0.45)
        .describe("… the executor changes an operator or leaves out the last line."),
      verifier: share.default(0.5).describe("… the verifier answers with another number."),
    })
    .prefault({})
    .describe("Share of the demonstrations in which a seat makes a mistake."),
  claims: share.default(0.2).describe("Share of the demonstrations that end with the claim `checked`."),
});

type WordOptions = z.output<typeof options>;

export const wordProblems: EnvironmentDefinition<WordOptions> = {
  name: "word-problems",
  summary: "A solver plans a calculation, an executor programs it, a verifier answers.",
  options,
  create: wordEnvironment,
};

function wordEnvironment(given: WordOptions): Environment<Task, WordState> {
  return {
    name: wordProblems.name,
    runsPrograms: true,
    seats: {
      solver: {
        purpose: "Plans the calculation.",
        prompt: "Plan the calculation in lines such as `a = 7 + 5 ; b = a / 3`. Write nothing else.",
        maxTokens: 24,
      },
      executor: {
        purpose: "Writes a Python program that carries out the plan; it is run.",
        prompt: "Write the plan as a Python program in one line that prints the value of each variable.",
        maxTokens: 36,
      },
      verifier: {
        purpose: "Reads the problem, the plan and the program's output, and answers.",
        prompt: "Answer the problem with the number that the program found: `answer 12`.",
        maxTokens: 6,
      },
    },
    tasks: drawnSplits(drawTask, { identity: calculationOf }),
    taskSchema,
    about: (task) => ({ problem: described(task), truth: String(answer(task)) }),
    start: (task) => ({ task, plan: null, program: null, output: null, said: null }),
    observe: observationOf,
    step: stepWords,
    outcome: (state) => ({ success: isSolved(state), score: isSolved(state) ? 1 : 0 }),
    render: renderState,
    oracle: oracleOf(given),
  };
}

function oracleOf(given: WordOptions): Oracle<WordState> {
  return {
    words,
    solve: ({ task, plan }, seat) => {
      if (seat === "solver") return planOf(linesOf(task));
      if (seat === "executor") return programOf(linesIn(plan ?? "") ?? linesOf(task));
      return `answer ${answer(task)}`;
    },
    demonstrations: (key, seats) => demonstrate(given, key, seats),
  };
}

function renderState({ task, plan, program, output, said }: WordState): string {
  const written = [
    ["solver", plan],
    ["executor", program],
    ["output", output],
    ["verifier", said],
  ].flatMap(([who, text]) => (text === null ? [] : [`${who}: ${text}`]));
  return [described(task), ...written].join("\n");
}
