/**
 * A coder and a tester for models trained from scratch, with the rules and rewards of `coder-tester`: the coder's statement
 * leaves out one number, the tester's has it, and all the tester can say is a case, which the coder's program is run
 * on. A coder that ignores the case has to guess.
 */
import { z } from "zod";
import { outcomeOf, renderPair, startPair, pairSeats } from "../code/coder-tester/definition.ts";
import type { PairState } from "../code/coder-tester/state.ts";
import { stepPair } from "../code/coder-tester/step.ts";
import type { Environment, EnvironmentDefinition } from "../environment.ts";
import { behaviourOf } from "../list-programs/task.ts";
import { drawnSplits } from "../tasks.ts";
import { demonstrate } from "./demonstrations.ts";
import { caseGrader, problemOf } from "./grader.ts";
import { observeCases } from "./observe.ts";
import { drawTask, statementOf, taskSchema, words, type Task } from "./task.ts";

const options = z.strictObject({
  telling: z
    .boolean()
    .default(true)
    .describe("Only a case that tells something about the coder's number is valid."),
  concludes: z
    .number()
    .min(0)
    .max(1)
    .default(0.5)
    .describe(
      "How often a demonstration's coder concludes the number from a case, instead of repeating its program.",
    ),
});

type CaseOptions = z.output<typeof options>;

export type CaseState = { readonly task: Task; readonly pair: PairState };

export const listCases: EnvironmentDefinition<CaseOptions> = {
  name: "list-cases",
  summary: "A coder who lacks a number and a tester who has it write tiny Python programs and cases.",
  options,
  create: caseEnvironment,
};

function caseEnvironment(given: CaseOptions): Environment<Task, CaseState> {
  const { coder, tester, single } = pairSeats(false);
  return {
    name: listCases.name,
    runsPrograms: true,
    seats: { coder: short(coder), tester: short(tester), single: short(single) },
    tasks: drawnSplits(drawTask, { identity: behaviourOf }),
    taskSchema,
    start(task) {
      const statement = statementOf(task, true);
      return { task, pair: startPair({ id: statement }, problemOf(task, statement)) };
    },
    observe: ({ task, pair }, seat) => observeCases(task, pair, seat),
    async step({ task, pair }, replies, context) {
      const result = await stepPair(caseGrader(given, task, context), pair, replies);
      return { ...result, state: { task, pair: result.state } };
    },
    outcome: ({ pair }) => outcomeOf(pair),
    render: ({ pair }) => renderPair(pair),
    // No solver: seats do not know when the hidden tests pass, so solving need not end an episode.
    oracle: { words, demonstrations: (key, seats) => demonstrate(given, key, seats) },
  };
}

function short<Description>(description: Description): Description & { readonly maxTokens: number } {
  return { ...description, maxTokens: 48 };
}
