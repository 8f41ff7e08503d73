/** Eight Queens: a team completes a board so that no queen attacks another (named by AT-GRPO's repository, PettingLLMs). */
import type { SeatDescription } from "../environment.ts";
import type { Game, GameDefinition } from "../game.ts";
import { endTurn, outcomeOf, startState, stepState } from "../placing/rules.ts";
import { type Seat, seatOf } from "../planning/seats.ts";
import { outputMayBeWrong } from "../programs/seat.ts";
import { demonstrateBoard, solvingPlan } from "./demonstrations.ts";
import { drawTask, type QueensTask } from "./generate.ts";
import { longestPlan, notationWords, writeObservation, writePlan } from "./notation.ts";
import { type QueensOptions, queensOptions } from "./options.ts";
import { queensPrograms } from "./programs.ts";
import { renderState } from "./render.ts";
import { queensRules, type QueensState } from "./rules.ts";
import { nearestCompletion } from "./solutions.ts";
import { queensTaskSchema } from "./task.ts";

export const eightQueens: GameDefinition<QueensOptions> = {
  name: "eight-queens",
  summary: "A proposer proposes squares for queens, a planner checks them and completes the board.",
  options: queensOptions,
  create: createEightQueens,
};

export function createEightQueens(options: QueensOptions): Game<QueensTask, QueensState> {
  const { size, plan } = options;
  return {
    name: eightQueens.name,
    seats: seatDescriptions(options),
    words: notationWords(size),
    // The proposer is not summable: it is rewarded for the same proposal again until it is followed.
    summable: ["planner"],
    taskSchema: queensTaskSchema,
    task: (split, key) => drawTask(options, split, key),
    start: (task) => startState(queensRules, task),
    observe: ({ task: { given }, grid, refused, proposed }, seat) =>
      writeObservation(seatOf(eightQueens.name, seat), { given, grid, refused, proposed }),
    step: (state, actions) => stepState(queensRules, state, actions),
    endTurn,
    outcome: (state) => outcomeOf(queensRules, state),
    demonstrations: (key, seats) => demonstrateBoard(options, key, seats),
    render: renderState,
    ...queensPrograms(options),
    solve: ({ task, grid }) =>
      writePlan(plan, size, solvingPlan(task, grid, nearestCompletion(task, grid).solution)),
  };
}

function seatDescriptions({ size, plan, programs }: QueensOptions): Record<Seat, SeatDescription> {
  const rules =
    `The board has ${size} rows and ${size} columns; in the end each row holds one queen, and no queen may stand in the ` +
    `column or on a diagonal of another. A square is a column letter and a row number: a1 is the top left one. c4 places ` +
    `a queen in column c of row 4, or moves the one that you placed there; x4 takes it off. The first queens are given and ` +
    `stay. A queen that is attacked is refused, which ends a plan and takes off the queens you placed that attack it; "refused" names the last one.`;
  const end = `End with one line that has only squares, like this: ${plan === "steps" ? "r4 c4 r5 a5" : "c4 a5"}`;
  const wrong = programs === undefined ? "Proposals may be wrong." : outputMayBeWrong;
  const maxTokens = longestPlan(plan, size);
  return {
    proposer: {
      purpose: "Proposes squares for the queens of the open rows.",
      prompt: `You are the proposer of a team that places queens. ${rules} Propose squares for the open rows. ${end}`,
      maxTokens,
    },
    planner: {
      purpose: "Reads the board and the proposed squares, if there are any, and places the queens.",
      prompt: `You are the planner of a team that places queens. ${rules} Fill the open rows. ${wrong} ${end}`,
      maxTokens,
      repeats: true,
    },
  };
}
