/**
 * The rewards of Sokoban as in the appendix of AT-GRPO (arXiv 2510.11062, C.1), which gives the weights of the local
 * terms; with "moves left" the length of a shortest solution:
 *
 *   team           = 1 when all boxes are on goals, else max(0, boxes on goals − most so far) / boxes
 *   planner local  = .1 format + .1 legality  + .8 deadlock
 *   proposer local = .1 format + .1 execution + .8 potential
 *   deadlock, potential = max(0, moves left before − moves left after) / max(moves written, moves left before)
 *
 * In a dead room, boxes on goals and moves left count for nothing. "Most so far" counts where plans of the episode
 * ended. RoomPosition a box off its goal and on again therefore earns nothing, and an episode that never solves the room
 * earns less than 1 in total. Only a shortest solution earns 1 + 1.
 */
import type { ActionReward } from "../environment.ts";

/** An attempted action and its result. */
export interface Attempt {
  /** Moves or pushes written, including those not carried out. */
  readonly written: number;
  readonly carriedOut: number;
  /** Moves used, in a proposal including the steps between the pushes. */
  readonly moves: number;
  readonly wellFormed: boolean;
  readonly solved: boolean;
  /** No solution is left. */
  readonly dead: boolean;
  /** Moves left. */
  readonly before: number;
  readonly after: number;
  readonly onGoals: number;
  /** The most boxes on goals after any plan of this episode so far. */
  readonly most: number;
  readonly boxes: number;
  /** What is wrong with the action. */
  readonly problem: string | undefined;
}

/** The names of a seat's terms after the first, which is the format. */
const terms = { planner: ["legality", "deadlock"], proposer: ["execution", "potential"] } as const;

export function rewardOf(seat: "planner" | "proposer", attempt: Attempt): ActionReward {
  const [done, progress] = terms[seat];
  const { written, carriedOut, wellFormed } = attempt;
  const parts = {
    format: wellFormed && written > 0 ? 0.1 : 0,
    [done]: written > 0 ? 0.1 * (carriedOut / written) : 0,
    [progress]: 0.8 * progressOf(attempt),
  };
  const local = Object.values(parts).reduce((sum, part) => sum + part, 0);
  const reward = { team: teamReward(attempt), local, parts };
  return attempt.problem === undefined ? reward : { ...reward, reason: attempt.problem };
}

/** For actions after the episode is over. */
export function noReward(seat: "planner" | "proposer", reason: string): ActionReward {
  const [done, progress] = terms[seat];
  return { team: 0, local: 0, parts: { format: 0, [done]: 0, [progress]: 0 }, reason };
}

function teamReward({ solved, dead, onGoals, most, boxes }: Attempt): number {
  if (solved) return 1;
  return dead ? 0 : Math.max(0, onGoals - most) / boxes;
}

function progressOf({ dead, before, after, moves }: Attempt): number {
  return dead ? 0 : Math.max(0, before - after) / Math.max(moves, before);
}
