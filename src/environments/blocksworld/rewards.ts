/**
 * The rewards of Blocksworld. The paper of AT-GRPO has none for it; these are its Plan-Path's (arXiv 2510.11062, C.1),
 * with the length of a shortest plan in place of the distance:
 *
 *   team  = 1 at the goal, else max(0, fewest moves left so far − moves left now) / moves left at the start
 *   local = .1 format + .1 legality + .8 max(0, moves left before − moves left after) / max(written, moves left before)
 *
 * "So far" counts where the plans of an episode ended, so that undoing and redoing earns nothing and an episode that never
 * reaches the goal earns less than 1 in all. A shortest plan earns 1 + 1; nothing else does.
 */
import type { ActionReward } from "../environment.ts";

/** What an action tried, and what became of it. */
export interface Attempt {
  /** Moves written, those that were not carried out included. */
  readonly written: number;
  readonly carriedOut: number;
  readonly wellFormed: boolean;
  /** Moves left. */
  readonly before: number;
  readonly after: number;
  /** The fewest moves left when a plan of this episode had ended (at first: those at the start). */
  readonly fewest: number;
  readonly atStart: number;
  /** What kept the action from being taken as meant. */
  readonly problem: string | undefined;
}

export function rewardOf(attempt: Attempt): ActionReward {
  const { written, carriedOut, wellFormed, before, after, fewest, atStart, problem } = attempt;
  const parts = {
    format: wellFormed && written > 0 ? 0.1 : 0,
    legality: written > 0 ? 0.1 * (carriedOut / written) : 0,
    progress: 0.8 * (Math.max(0, before - after) / Math.max(written, before)),
  };
  const reward = {
    team: after === 0 ? 1 : Math.max(0, fewest - after) / atStart,
    local: parts.format + parts.legality + parts.progress,
    parts,
  };
  return problem === undefined ? reward : { ...reward, reason: problem };
}

/** Nothing is to be earned where there is nothing left to do. */
export function noReward(reason: string): ActionReward {
  return { team: 0, local: 0, parts: { format: 0, legality: 0, progress: 0 }, reason };
}
