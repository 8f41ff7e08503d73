/**
 * Tiny programs by two seats, for models made from nothing: a task says in a few words what to do with a list; the helper writes
 * one function, the main coder another that calls it, and tests decide. There are four ways to divide the work, nothing says which
 * to choose, and halves of different ones fail together: the seats have to agree without a message.
 */
import { z } from "zod";
import type { CodeProblem } from "../../data/problem.ts";
import { outcomeOf, startState } from "../code/definition.ts";
import { renderState } from "../code/observe.ts";
import { codeOptions } from "../code/options.ts";
import { seatDescriptions, type SeatName, type CodeState } from "../code/state.ts";
import { endTurnOf, stepState } from "../code/step.ts";
import type { ActionReward, Environment, EnvironmentDefinition, Oracle, StepResult } from "../environment.ts";
import { drawnSplits } from "../tasks.ts";
import { demonstrate, situations, words } from "./demonstrations.ts";
import { observationOf } from "./observe.ts";
import { described, divisions, solved, whole } from "./programs.ts";
import { answer, behaviourOf, drawTask, inputs, taskSchema, type Task } from "./task.ts";

const options = z.strictObject({
  divisions: z
    .array(z.enum(divisions))
    .min(1)
    .default([...divisions])
    .describe(
      "Divisions of labour that demonstrations show, by what the helper makes: a changed number, a selection, the changed list, the result.",
    ),
  situations: z
    .array(z.enum(situations))
    .min(1)
    .default(["together"])
    .describe(
      "What demonstrations of helper and main show: writing together, after the partner's code is known, revising both.",
    ),
  feedback: z
    .enum(["none", "partner"])
    .default("none")
    .describe(
      "What later turns show. none: nothing new, and a solved task ends the episode. partner: the seat's and its partner's last code, solved or not.",
    ),
});

type ListProgramOptions = z.output<typeof options>;

export type ListProgramState = {
  readonly task: Task;
  readonly code: CodeState;
  /** What the seats wrote in the last turn, if later turns show it. */
  readonly last?: CodeState["written"];
};

export const listPrograms: EnvironmentDefinition<ListProgramOptions> = {
  name: "list-programs",
  summary: "A helper and a main coder write tiny Python functions over lists; tests decide.",
  options,
  create: listProgramEnvironment,
};

/** Only feedback for later turns depends on them. */
const standard = codeOptions.parse({});

function listProgramEnvironment(given: ListProgramOptions): Environment<Task, ListProgramState> {
  // Seats that discuss do not know whether the tests pass.
  const endsSolved = given.feedback === "none";
  return {
    name: listPrograms.name,
    runsPrograms: true,
    seats: {
      helper: short(seatDescriptions.helper),
      main: short(seatDescriptions.main),
      single: short(seatDescriptions.single),
    },
    tasks: drawnSplits(drawTask, { identity: behaviourOf }),
    taskSchema,
    start: (task) => ({ task, code: startState({ id: described(task) }, problemOf(task)) }),
    observe: ({ task, code, last }, seat) => observationOf(task, code.written, last, seat as SeatName),
    step: async (state, replies, context) => {
      if (endsSolved && outcomeOf(state.code).success) return stayOver(state, Object.keys(replies));
      const result = await stepState(standard, problemOf(state.task), state.code, replies, context);
      const done = endsSolved && outcomeOf(result.state).success;
      return { ...result, state: { ...state, code: result.state }, done };
    },
    endTurn: ({ task, code }) => ({
      task,
      code: endTurnOf(code),
      ...(endsSolved ? {} : { last: code.written }),
    }),
    outcome: ({ code }) => outcomeOf(code),
    render: ({ code }) => renderState(code),
    oracle: oracleOf(given),
  };
}

const noReward: ActionReward = { team: 0, local: 0, parts: {}, reason: "the episode is over" };

function stayOver(state: ListProgramState, seats: readonly string[]): StepResult<ListProgramState> {
  return { state, rewards: Object.fromEntries(seats.map((seat) => [seat, noReward])), done: true };
}

function oracleOf(shown: ListProgramOptions): Oracle<ListProgramState> {
  return {
    words: words(),
    solve: ({ task }, seat) =>
      seat === "single" ? whole(task) : solved(task, "number")[seat as "helper" | "main"],
    demonstrations: (key, seats) => demonstrate(shown, key, seats as readonly SeatName[]),
  };
}

function short<Description>(description: Description): Description & { readonly maxTokens: number } {
  return { ...description, maxTokens: 48 };
}

function problemOf(task: Task): CodeProblem {
  const asserts = inputs.map(
    (xs) => `assert solve(${JSON.stringify(xs)}) == ${JSON.stringify(answer(task, xs))}`,
  );
  const { helper, main } = solved(task, "number");
  return {
    id: described(task),
    prompt: described(task),
    entryPoint: "solve",
    tests: { kind: "asserts", setup: "", asserts },
    solutions: [`${helper}\n${main}\n`],
  };
}
