/**
 * The rewards of games in which things are placed (Sudoku, Eight Queens), after the appendix of AT-GRPO (arXiv
 * 2510.11062, C.1): team = 1 if solved, otherwise progress; local = .1 format + .1 legality + .8 progress.
 *
 *   progress  = max(0, value after − best value so far) / value of the solution
 *   team      = 1 if solved, else progress
 *   local     = progress × (.1 format + .1 carried out / written + .8 min(1, missing before / written))
 *
 * The value of a state is what stands right minus what stands wrong. Only what no earlier state had is progress, and form
 * counts in its measure alone: whatever is placed, taken away and placed again, and in however many actions, the rewards
 * of a seat that acts sum to less than 2 unless it solves; the solver earns 2 with its first action.
 */
import type { ActionReward } from "../environment.ts";

/** What an action tried, and what became of it. */
export interface Attempt {
  /** Placements written, those that were not carried out included. */
  readonly written: number;
  readonly carriedOut: number;
  readonly wellFormed: boolean;
  /** What stands right minus what stands wrong, before and after. */
  readonly before: number;
  readonly after: number;
  /** The highest value that the episode has had until now. */
  readonly best: number;
  /** The value of the solution. */
  readonly whole: number;
  /** What kept the action from being taken as meant. */
  readonly problem: string | undefined;
}

export function rewardOf(attempt: Attempt): ActionReward {
  const { after, best, whole, problem } = attempt;
  const progress = Math.max(0, after - best) / whole;
  const parts = localParts(attempt, progress);
  const reward = {
    team: after === whole ? 1 : progress,
    local: parts.format + parts.legality + parts.progress,
    parts,
  };
  return problem === undefined ? reward : { ...reward, reason: problem };
}

/** Nothing is to be earned where there is nothing left to do. */
export function noReward(reason: string): ActionReward {
  return { team: 0, local: 0, parts: { format: 0, legality: 0, progress: 0 }, reason };
}

function localParts(
  { written, carriedOut, wellFormed, before, whole }: Attempt,
  progress: number,
): { format: number; legality: number; progress: number } {
  if (written === 0) return { format: 0, legality: 0, progress: 0 };
  const missing = whole - before;
  return {
    format: wellFormed ? 0.1 * progress : 0,
    legality: 0.1 * progress * (carriedOut / written),
    progress: 0.8 * progress * Math.min(1, missing / written),
  };
}
