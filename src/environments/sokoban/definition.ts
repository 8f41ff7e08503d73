/** Sokoban: a team pushes boxes onto goals (AT-GRPO, arXiv 2510.11062). */
import { childKey, drawFloat, drawInt, type Generator, generatorOf, type Key } from "../../random.ts";
import type { Demonstration, SeatDescription } from "../environment.ts";
import type { Game, GameDefinition } from "../game.ts";
import { brokenOff, drawSeat } from "../planning/demonstrations.ts";
import { type Seat, seatOf } from "../planning/seats.ts";
import { outputMayBeWrong } from "../programs/seat.ts";
import {
  drawStarts,
  drawTask,
  longestSolution,
  sokobanOptions,
  type SokobanOptions,
  type SokobanTask,
  sokobanTaskSchema,
} from "./generator.ts";
import {
  notationWords,
  roomRows,
  type Scene,
  writeObservation,
  writePlan,
  writeProposal,
} from "./notation.ts";
import { canonicalSolution, moveOnce, type Push, pushesOf, randomSolution, type Step } from "./room.ts";
import { endTurn, outcomeOf, renderState, type SokobanState, startState, stepState } from "./rules.ts";

// Solved examples for a supervised warm start, each from a solvable position of a training room.

/**
 * The examples of one training room, one for each position drawn in it: a proposer's pushes or a planner's plan. If
 * both seats are requested, most planner examples show a proposal. A share of the proposals is wrong, so that the
 * planner does not follow blindly; a share of the examples has none, so that it also learns to plan alone.
 */
export function demonstrate(options: SokobanOptions, key: Key, seats: readonly string[]): Demonstration[] {
  // All lengths are equally likely: the last pushes are learned from short solutions.
  const first = drawTask({ ...options, longestOf: 1 }, "train", childKey(key, "task"));
  const generator = generatorOf(childKey(key, "solutions"));
  const more = drawStarts(first.room, generator, options.demonstrations.startsPerRoom - 1);
  return [first, ...more].map((task) => demonstrateTask(options, task, seats, generator));
}

function demonstrateTask(
  options: SokobanOptions,
  task: SokobanTask,
  seats: readonly string[],
  generator: Generator,
): Demonstration {
  const { proposer, breakOff } = options.demonstrations;
  const { seat, team } = drawSeat(seats, proposer, generator);
  const scene = { ...task, bumped: bumpedBefore(options, task, generator), proposal: null };
  const best = randomSolution(task.room, task, generator);
  if (seat === "proposer")
    return proposerExample(options, scene, brokenOff(breakOff, pushesOf(best), generator));
  const proposal = team ? seenProposal(options, task, pushesOf(best), generator) : null;
  return plannerExample(options, { ...scene, proposal }, brokenOff(breakOff, best, generator));
}

function proposerExample(options: SokobanOptions, scene: Scene, pushes: readonly Push[]): Demonstration {
  const observation = writeObservation(options, "proposer", scene);
  return { seat: "proposer", observation, action: writeProposal(scene.room.size, pushes) };
}

function plannerExample(options: SokobanOptions, scene: Scene, steps: readonly Step[]): Demonstration {
  const observation = writeObservation(options, "planner", scene);
  return { seat: "planner", observation, action: writePlan(options, scene.room.size, scene.at, steps) };
}

/** As if a plan had just ended at a cell next to the player. Null if nothing is in the way, and in other examples. */
function bumpedBefore(
  { demonstrations }: SokobanOptions,
  { room, at, boxes }: SokobanTask,
  generator: Generator,
): number | null {
  if (drawFloat(generator) >= demonstrations.bumped) return null;
  const blocked = [0, 1, 2, 3]
    .map((move) => moveOnce(room, { at, boxes }, move))
    .flatMap((tried) => ("problem" in tried ? [tried.bumped] : []));
  return blocked[drawInt(generator, Math.max(1, blocked.length))] ?? null;
}

/** The pushes of the solution that the plan follows, or a prefix of them; null: no proposer has acted. */
function seenProposal(
  options: SokobanOptions,
  task: SokobanTask,
  best: readonly Push[],
  generator: Generator,
): readonly Push[] | null {
  const { alone, wrongProposal, breakOff } = options.demonstrations;
  const chance = drawFloat(generator);
  if (chance < alone) return null;
  const wrong = chance < alone + (1 - alone) * wrongProposal;
  return wrong ? spoiledProposal(task, best, generator) : brokenOff(breakOff, best, generator);
}

/** Mistakes of real proposers: nothing, a missing push, a wrong direction, pushes for another position. */
function spoiledProposal(
  { room }: SokobanTask,
  best: readonly Push[],
  generator: Generator,
): readonly Push[] {
  const index = drawInt(generator, best.length);
  const turned = drawInt(generator, 4);
  const kinds = [
    () => [],
    () => best.filter((_, position) => position !== index),
    () => best.map((push, position) => (position === index ? { ...push, move: turned } : push)),
    () => drawStarts(room, generator, 1).flatMap((other) => pushesOf(randomSolution(room, other, generator))),
  ];
  return kinds[drawInt(generator, kinds.length)]?.() ?? [];
}

// Instructions and input of a proposer that writes programs.

export function sokobanPrograms({
  size,
  programs,
}: SokobanOptions): Pick<Game<SokobanTask, SokobanState>, "programs"> {
  if (programs === undefined) return {};
  const task =
    `A player in a room of ${size} rows and ${size} columns moves up, down, left or right; moving into a box pushes it one ` +
    `cell further, if that cell is neither a wall nor a box. Boxes cannot be pulled. A plan is a shortest way to get every box ` +
    `onto a goal. "grid" has the rows from the top: "#" wall, "-" floor, "." goal, "$" box, "*" box on a goal, "@" player, ` +
    `"+" player on a goal. Print all moves of the player in one line, like this: right right down.`;
  return {
    programs: {
      writer: "proposer",
      reader: "planner",
      task,
      input: ({ room, at, boxes }) => ({ grid: roomRows(room, { at, boxes }) }),
      limits: programs,
    },
  };
}

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
