/** Blocksworld: a team stacks blocks to match a goal (named in the repository of AT-GRPO, arXiv 2510.11062). */
import {
  childKey,
  drawFloat,
  drawInt,
  type Generator,
  generatorOf,
  type Key,
  shuffled,
} from "../../random.ts";
import type { Demonstration, SeatDescription } from "../environment.ts";
import type { Game, GameDefinition } from "../game.ts";
import { brokenOff, drawSeat } from "../planning/demonstrations.ts";
import { type Seat, seatOf } from "../planning/seats.ts";
import { outputMayBeWrong } from "../programs/seat.ts";
import {
  blocksOptions,
  type BlocksTask,
  blocksTaskSchema,
  type BlocksworldOptions,
  drawStarts,
  drawTask,
  longestPlan,
} from "./generator.ts";
import {
  blockName,
  listTowers,
  type Move,
  notationWords,
  problemOf,
  type Scene,
  table,
  type Towers,
  writeObservation,
  writeOrder,
  writePlan,
} from "./notation.ts";
import { type BlocksState, endTurn, outcomeOf, renderState, startState, stepState } from "./rules.ts";
import { canonicalPlan, randomPlan } from "./space.ts";

// Solved examples for a supervised warm start, each from the start of a training task.

/**
 * The examples of one goal, one for each start: a proposer's order or a planner's plan. If both seats are requested,
 * most planner examples show an order. A share of the orders is wrong, so that the planner does not follow blindly; a
 * share of the examples has none, so that it also learns to plan alone.
 */
export function demonstrate(
  options: BlocksworldOptions,
  key: Key,
  seats: readonly string[],
): Demonstration[] {
  const first = drawTask({ ...options, longestOf: 1 }, "train", childKey(key, "task"));
  const generator = generatorOf(childKey(key, "plans"));
  const more = drawStarts(first.goal, "train", generator, options.demonstrations.startsPerGoal - 1);
  return [first, ...more].map((task) => demonstrateTask(options, task, seats, generator));
}

function demonstrateTask(
  options: BlocksworldOptions,
  task: BlocksTask,
  seats: readonly string[],
  generator: Generator,
): Demonstration {
  const { proposer, breakOff } = options.demonstrations;
  const { seat, team } = drawSeat(seats, proposer, generator);
  const best = randomPlan(task.on, task.goal, generator);
  const scene = { ...task, failed: failedBefore(options, task, generator), order: null };
  const shown = brokenOff(breakOff, best, generator);
  if (seat === "proposer") return example("proposer", scene, writeOrder(blocksOf(shown)));
  const order = team ? seenOrder(options, task, best, generator) : null;
  return example("planner", { ...scene, order }, writePlan(shown));
}

function example(seat: "proposer" | "planner", scene: Scene, action: string): Demonstration {
  return { seat, observation: writeObservation(seat, scene), action };
}

function blocksOf(moves: readonly Move[]): number[] {
  return moves.map(({ block }) => block);
}

/** As if a plan had just ended at an impossible move. */
function failedBefore(
  { demonstrations }: BlocksworldOptions,
  { on }: BlocksTask,
  generator: Generator,
): Move | null {
  if (drawFloat(generator) >= demonstrations.failed) return null;
  const move = { block: drawInt(generator, on.length), to: table + drawInt(generator, on.length + 1) };
  return problemOf(on, move) === undefined ? null : move;
}

/** The blocks of the plan, or the first of them; null: no proposer has acted. */
function seenOrder(
  options: BlocksworldOptions,
  { on }: BlocksTask,
  best: readonly Move[],
  generator: Generator,
): readonly number[] | null {
  const { alone, wrongProposal, breakOff } = options.demonstrations;
  const chance = drawFloat(generator);
  if (chance < alone) return null;
  if (chance >= alone + (1 - alone) * wrongProposal) return blocksOf(brokenOff(breakOff, best, generator));
  const blocks = shuffled(generator, [...on.keys()]);
  return blocks.slice(0, drawInt(generator, blocks.length + 1));
}

// Instructions and input of a proposer that writes programs.

export function blocksPrograms({
  blocks,
  programs,
}: BlocksworldOptions): Pick<Game<BlocksTask, BlocksState>, "programs"> {
  if (programs === undefined) return {};
  const task =
    `${blocks} blocks stand in towers on a table. A move takes a block with nothing on it to the table or onto another ` +
    `block with nothing on it; a plan is a shortest list of moves to the goal. "now" and "goal" have the towers, each ` +
    `from the table up; their order does not matter. Print all moves in one line, like this: move c table move b a.`;
  return {
    programs: {
      writer: "proposer",
      reader: "planner",
      task,
      input: ({ on, goal }) => ({ now: towersOf(on), goal: towersOf(goal) }),
      limits: programs,
    },
  };
}

function towersOf(on: Towers): string[][] {
  return listTowers(on).map((tower) => tower.map(blockName));
}

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
