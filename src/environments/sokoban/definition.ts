/** Sokoban: a team pushes boxes onto goals (AT-GRPO, arXiv 2510.11062). */
import type { SeatDescription } from "../environment.ts";
import type { Game, GameDefinition } from "../game.ts";
import { type Seat, seatOf } from "../planning/seats.ts";
import { outputMayBeWrong } from "../programs/seat.ts";
import { demonstrate } from "./demonstrations.ts";
import { drawTask, longestSolution, type SokobanTask } from "./generate.ts";
import { notationWords, writeObservation, writePlan, writeProposal } from "./notation.ts";
import { type SokobanOptions, sokobanOptions } from "./options.ts";
import { sokobanPrograms } from "./programs.ts";
import { renderState } from "./render.ts";
import { endTurn, outcomeOf, type SokobanState, startState, stepState } from "./rules.ts";
import { canonicalSolution, pushesOf } from "./solver.ts";
import { sokobanTaskSchema } from "./task.ts";

export const sokoban: GameDefinition<SokobanOptions> = {
  name: "sokoban",
  summary: "A proposer names the pushes that bring boxes onto goals, a planner walks and pushes.",
  options: sokobanOptions,
  create: createSokoban,
};

export function createSokoban(options: SokobanOptions): Game<SokobanTask, SokobanState> {
  return {
    name: sokoban.name,
    seats: seatDescriptions(options),
    words: notationWords(options, options.size),
    // No seat is summable: approaching the goal is rewarded again after every step back, and so is the format.
    summable: [],
    // The few rooms of size 5 leave none for validation.
    ...(options.size === 5 ? { splits: ["train", "heldOut"] as const } : {}),
    taskSchema: sokobanTaskSchema,
    task: (split, key) => drawTask(options, split, key),
    start: startState,
    observe: (state, seat) => writeObservation(options, seatOf(sokoban.name, seat), state),
    step: (state, actions) => stepState(state, actions, options),
    endTurn,
    outcome: outcomeOf,
    demonstrations: (key, seats) => demonstrate(options, key, seats),
    render: renderState,
    ...sokobanPrograms(options),
    solve(state, seat) {
      const { room, at } = state;
      const steps = canonicalSolution(room, state);
      return seatOf(sokoban.name, seat) === "proposer"
        ? writeProposal(room.size, pushesOf(steps))
        : writePlan(options, room.size, at, steps);
    },
  };
}

function seatDescriptions({ size, plan, programs }: SokobanOptions): Record<Seat, SeatDescription> {
  const room =
    `The room has ${size} rows and ${size} columns; its edge is all wall. A cell is a column letter and a row number: ` +
    `a1 is the top left cell, b1 is to the right of it, a2 is below it. The player moves up, down, left or right; moving ` +
    `into a box pushes it one cell on, if that cell is neither a wall nor a box. Boxes cannot be pulled. Every box has to ` +
    `get onto a goal. "bumped" names the cell that could not be entered when the last plan ended.`;
  const steps =
    "each followed by the player's new cell and, after a push, by the box's: c4 right d4 down d5 d6";
  const longest = longestSolution(size);
  return {
    proposer: {
      purpose: "Names the pushes that bring the boxes onto the goals.",
      prompt:
        `You are the proposer. ${room} Find the pushes of a shortest solution. End with one line that has only the ` +
        `pushes, each as the cell of the box and the direction, like this: c4 right d4 right e4 down`,
      maxTokens: 3 * longest,
    },
    planner: {
      purpose: "Reads the room and the proposed pushes, if there are any, and moves the player.",
      prompt:
        `You are the planner. ${room} Solve the room in as few moves as possible. ` +
        `${programs === undefined ? "The proposed pushes may be wrong." : outputMayBeWrong} End with one line that has only the moves up, down, left and right` +
        (plan === "steps" ? `, ${steps}` : `, like this: right down`),
      maxTokens: plan === "steps" ? 3 * longest + 1 : longest,
      repeats: true,
    },
  };
}
