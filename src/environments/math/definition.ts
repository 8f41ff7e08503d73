/** Mathematics problems with final answers, solved alone or in a team; the team's answer is verified. */
import type { MathProblem } from "../../data/problem.ts";
import { TroupeError } from "../../errors.ts";
import { showText } from "../../format.ts";
import type { Environment, EnvironmentDefinition, SeatDescription } from "../environment.ts";
import { closedSplits, findProblemIn, taskSourceOf, type ProblemSplits } from "../problems.ts";
import type { TeamForm } from "./forms/form.ts";
import { formOf } from "./forms/forms.ts";
import { observationOf } from "./observe.ts";
import { mathOptions, type MathOptions } from "./options.ts";
import { actingIn, decidesOrder } from "./order.ts";
import { openMathProblems } from "./problems.ts";
import { mathTaskSchema, type MathState, type MathTask, type Said } from "./state.ts";
import { endRound, stepTeam } from "./step.ts";

export const math: EnvironmentDefinition<MathOptions> = {
  name: "math",
  summary: "A reasoner or a team solves mathematics problems; the final answer is verified.",
  options: mathOptions,
  create: async (options) => {
    const { splits, data, warnings } = await openMathProblems(options);
    return { ...mathEnvironment(options, splits), data, warnings };
  },
  outline: (options) => mathEnvironment(options, closedSplits(options.splits)),
};

type TeamOptions = Pick<MathOptions, "form" | "showThinking" | "characters" | "programs">;

/** @throws TroupeError `bad_recipe` for a form that cannot play */
export function mathEnvironment(
  options: TeamOptions,
  splits: ProblemSplits<MathProblem>,
): Environment<MathTask, MathState> {
  const find = findProblemIn(splits);
  const form = formOf(options.form);
  const { showThinking: thinkingOf, characters, programs: limits } = options;
  for (const seat of thinkingOf) checkSeat(form, seat);
  return {
    name: math.name,
    seats: described(form),
    ...(runsPrograms(form) ? { runsPrograms: true } : {}),
    tasks: Object.fromEntries(
      Object.entries(splits).map(([split, problems]) => [split, taskSourceOf(problems, (id) => ({ id }))]),
    ) as Environment<MathTask>["tasks"],
    taskSchema: mathTaskSchema,
    about: async ({ id }) => {
      const { prompt, answers, subject } = await find(id);
      const truth = answers.join(" or ");
      return { problem: prompt, truth, ...(subject === undefined ? {} : { type: subject }) };
    },
    start: async (task) => startTeam(task, (await find(task.id)).prompt),
    ...(decidesOrder(form) ? { next: (state: MathState) => actingIn(form, state) } : {}),
    observe: (state, seat) => observationOf(form, { characters, thinkingOf }, state, seat),
    step: async (state, replies, context) => {
      const { answers: accepted } = await find(state.task.id);
      return stepTeam({ form, limits, thinkingOf, accepted, context }, state, replies);
    },
    endTurn: (state) => endRound(form, state),
    outcome: ({ answer }) => ({
      success: answer?.isCorrect === true,
      score: answer?.isCorrect === true ? 1 : 0,
    }),
    render: renderState,
  };
}

/** The form's seats with what follows from it. */
function described(form: TeamForm): Readonly<Record<string, SeatDescription>> {
  const required = decidesOrder(form) ? { required: true as const } : {};
  const remembers = "in later actions of a turn it is shown only what its last program printed";
  return Object.fromEntries(
    Object.entries(form.seats).map(([name, seat]) => {
      const { purpose, prompt, maxTokens, judged, actions = 1 } = seat;
      const own = { purpose, prompt, maxTokens, ...(judged ? { judged } : {}) };
      return [name, { ...own, ...required, ...(actions > 1 ? { remembers } : {}) }];
    }),
  );
}

function startTeam(task: MathTask, prompt: string): MathState {
  return { task, prompt, round: 0, phase: 0, said: [], answer: null, done: false };
}

function runsPrograms({ seats }: TeamForm): boolean {
  return Object.values(seats).some(({ writes }) => writes === "program" || writes === "blocks");
}

function checkSeat({ seats }: TeamForm, seat: string): void {
  if (Object.hasOwn(seats, seat)) return;
  const known = Object.keys(seats).join(", ");
  throw new TroupeError(
    "bad_recipe",
    `environment.showThinking: there is no seat ${seat}; the seats are ${known}`,
  );
}

function renderState({ task, prompt, said, answer }: MathState): string {
  const written = said.map(renderSaid);
  const result = answer === null ? [] : [showTeamAnswer(answer)];
  return [`${task.id}\n\n${prompt}`, ...written, ...result].join("\n\n");
}

function renderSaid(said: Said): string {
  const { seat, round, text, ran, answer } = said;
  const printed = ran.map(
    ({ printed: { text: output, problem } }) => `printed: ${problem ?? showText(output, 200)}`,
  );
  const result = answer === null ? [] : [showAnswer(said)];
  return [`${seat}, round ${round + 1}:\n${text.trimEnd()}`, ...printed, ...result].join("\n");
}

function showTeamAnswer(given: Parameters<typeof showAnswer>[0]): string {
  return given.answer === null ? "the team has no answer" : `the team's ${showAnswer(given)}`;
}

function showAnswer({ answer, isCorrect }: Pick<Said, "answer" | "isCorrect">): string {
  return answer === null ? "no answer" : `answer ${answer}: ${isCorrect ? "correct" : "not correct"}`;
}
