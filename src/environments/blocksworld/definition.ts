/** Blocksworld: a team stacks blocks to match a goal (named in the repository of AT-GRPO, arXiv 2510.11062). */
import type { SeatDescription } from "../environment.ts";
import type { Game, GameDefinition } from "../game.ts";
import { type Seat, seatOf } from "../planning/seats.ts";
import { outputMayBeWrong } from "../programs/seat.ts";
import { demonstrate } from "./demonstrations.ts";
import { type BlocksTask, drawTask, longestPlan } from "./generate.ts";
import { notationWords, writeObservation, writeOrder, writePlan } from "./notation.ts";
import { blocksOptions, type BlocksworldOptions } from "./options.ts";
import { blocksPrograms } from "./programs.ts";
import { renderState } from "./render.ts";
import { type BlocksState, endTurn, outcomeOf, startState, stepState } from "./rules.ts";
import { canonicalPlan } from "./solver.ts";
import { blocksTaskSchema } from "./task.ts";

export const blocksworld: GameDefinition<BlocksworldOptions> = {
  name: "blocksworld",
  summary: "A proposer names blocks to move, a planner moves them to match the goal.",
  options: blocksOptions,
  create: createBlocksworld,
};

export function createBlocksworld(options: BlocksworldOptions): Game<BlocksTask, BlocksState> {
  return {
    name: blocksworld.name,
    seats: seatDescriptions(options),
    words: notationWords(options.blocks),
    // No seat is summable: approaching the goal is rewarded again after every step back, and so is the format.
    summable: [],
    // The few tasks with three blocks leave none for validation.
    ...(options.blocks <= 3 ? { splits: ["train", "heldOut"] as const } : {}),
    taskSchema: blocksTaskSchema,
    task: (split, key) => drawTask(options, split, key),
    start: startState,
    observe: (state, seat) => writeObservation(seatOf(blocksworld.name, seat), state),
    step: stepState,
    endTurn,
    outcome: outcomeOf,
    demonstrations: (key, seats) => demonstrate(options, key, seats),
    render: renderState,
    ...blocksPrograms(options),
    solve(state, seat) {
      const plan = canonicalPlan(state.on, state.goal);
      return seatOf(blocksworld.name, seat) === "proposer"
        ? writeOrder(plan.map(({ block }) => block))
        : writePlan(plan);
    },
  };
}

function seatDescriptions({ blocks, programs }: BlocksworldOptions): Record<Seat, SeatDescription> {
  const world =
    `There are ${blocks} blocks on a table. Towers are written from the table up: "table a b table c" means that b stands ` +
    `on a, and a and c on the table. Only a block with nothing on it can be moved, to the table or onto another block ` +
    `with nothing on it. The blocks must end up as in the goal. "failed" names the move that ended the last plan.`;
  return {
    proposer: {
      purpose: "Names the blocks to be moved, in their order.",
      prompt:
        `You are the proposer. ${world} A block that you name goes to its place in the goal if that is ready, and else to ` +
        `the table. End with one line that has only the blocks to be moved, in their order, like this: c b a`,
      maxTokens: longestPlan(blocks),
    },
    planner: {
      purpose: "Reads the towers and the proposed blocks, if there are any, and moves.",
      prompt:
        `You are the planner. ${world} Reach the goal in as few moves as possible. ` +
        `${programs === undefined ? "The proposed blocks may be wrong." : outputMayBeWrong} End with one line that has only moves, like this: move c table move b a`,
      maxTokens: 3 * longestPlan(blocks),
      repeats: true,
    },
  };
}
