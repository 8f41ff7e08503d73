/** Plan-Path: a team finds its way across a board with walls (AT-GRPO, arXiv 2510.11062). */
import type { SeatDescription } from "../environment.ts";
import type { Game, GameDefinition } from "../game.ts";
import { outputMayBeWrong } from "../programs/seat.ts";
import { demonstrate } from "./demonstrations.ts";
import { drawTask, type PathTask } from "./generate.ts";
import { type Notation, notationWords, writeObservation, writePlan, writeRoute } from "./notation.ts";
import { type PathOptions, pathOptions } from "./options.ts";
import { pathPrograms } from "./programs.ts";
import { renderState } from "./render.ts";
import {
  endTurn,
  isSeat,
  longestRoute,
  outcomeOf,
  type PathState,
  type Seat,
  startState,
  stepState,
} from "./rules.ts";
import { TroupeError } from "../../errors.ts";
import { canonicalPath } from "../grid/paths.ts";
import { pathTaskSchema } from "./task.ts";

export const planPath: GameDefinition<PathOptions> = {
  name: "plan-path",
  summary: "A scout proposes a route across a board with walls, a planner walks it.",
  options: pathOptions,
  create: createPlanPath,
};

export function createPlanPath(options: PathOptions): Game<PathTask, PathState> {
  const notation: Notation = { board: options.notation, plan: options.plan };
  return {
    name: planPath.name,
    seats: seatDescriptions(options),
    words: notationWords(notation, options.size),
    // No seat is summable: approaching the goal is rewarded again after every step back, and so is the format.
    summable: [],
    taskSchema: pathTaskSchema,
    task: (split, key) => drawTask(options, split, key),
    start: startState,
    observe: (state, seat) => writeObservation(notation, known(seat), state),
    step: (state, actions) => stepState(state, actions, notation, options.scoutWalks),
    endTurn,
    outcome: outcomeOf,
    demonstrations: (key, seats) => demonstrate(options, key, seats),
    render: renderState,
    ...pathPrograms(options),
    solve(state, seat) {
      const path = canonicalPath(state.board, state.at);
      const { size } = state.board;
      return known(seat) === "scout" ? writeRoute(size, path) : writePlan(options.plan, size, path);
    },
  };
}

function seatDescriptions({ size, plan, scoutWalks, programs }: PathOptions): Record<Seat, SeatDescription> {
  const board =
    `The board has ${size} rows and ${size} columns. A cell is a column letter and a row number: a1 is the top left ` +
    `cell, b1 is to the right of it, a2 is below it. Walls cannot be entered; "bumped" names the one that ended the last plan.`;
  const steps = `with the cells between the moves, like this: c4 right d4 down d5`;
  return {
    scout: {
      purpose: "Proposes a route from the agent's cell to the goal, as a list of cells.",
      prompt:
        `You are the scout. ${board} Find a shortest route from the cell after "at" to the goal. ` +
        `End with one line that has only the cells of the route, like this: c4 d4 d5`,
      maxTokens: longestRoute(size),
      ...(scoutWalks === true
        ? { alone: "with `environment.scoutWalks` its route moves the agent", repeats: true as const }
        : {}),
    },
    planner: {
      purpose: "Reads the board and the scout's route, if there is one, and moves the agent.",
      prompt:
        `You are the planner. ${board} Move from the cell after "at" to the goal in as few moves as possible. ` +
        `${programs === undefined ? "The scout's route may be wrong." : outputMayBeWrong} End with one line that has only the moves up, down, left and right` +
        (plan === "steps" ? `, ${steps}` : `, like this: right down`),
      maxTokens: plan === "steps" ? 2 * longestRoute(size) : longestRoute(size),
      repeats: true,
    },
  };
}

function known(seat: string): Seat {
  if (isSeat(seat)) return seat;
  throw new TroupeError("bad_arguments", `plan-path has no seat "${seat}"; it has scout and planner`);
}
