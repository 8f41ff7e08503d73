/**
 * The rewards of Sokoban as in the appendix of AT-GRPO (arXiv 2510.11062, C.1), which gives the weights of the local
 * terms; with "moves left" the length of a shortest solution:
 *
 *   team           = 1 when all boxes are on goals, else max(0, boxes on goals − most so far) / boxes
 *   planner local  = .1 format + .1 legality  + .8 deadlock
 *   proposer local = .1 format + .1 execution + .8 potential
 *   deadlock, potential = max(0, moves left before − moves left after) / max(moves written, moves left before)
 *
 * In a room that can no longer be solved, boxes on goals and moves left count for nothing. "Most so far" counts where the
 * plans of an episode ended, so that pushing a box off its goal and on again earns nothing, and an episode that never
 * solves the room earns less than 1 in all. A shortest solution earns 1 + 1; nothing else does.
 */
import type { ActionReward } from "../environment.ts";

/** What an action tried, and what became of it. */
export interface Attempt {
  /** Moves or pushes written, those that were not carried out included. */
  readonly written: number;
  readonly carriedOut: number;
  /** Moves that it takes: of a proposal also the steps between the pushes. */
  readonly moves: number;
  readonly wellFormed: boolean;
  readonly solved: boolean;
  /** No solution is left. */
  readonly dead: boolean;
  /** Moves left. */
  readonly before: number;
  readonly after: number;
  readonly onGoals: number;
  /** The most boxes on goals when a plan of this episode had ended. */
  readonly most: number;
  readonly boxes: number;
  /** What kept the action from being taken as meant. */
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

/** Nothing is to be earned where there is nothing left to do. */
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
