/**
 * The rewards of Thin Ice. All of them are changes of something that only grows, so that they may be added up over turns:
 *
 *   score = 1 when both are across, else (share of red's way behind + share of blue's) / 4; 0 for one that fell
 *   team  = max(0, score − highest score so far), 0 when somebody falls
 *   local = gain × (.1 format + .9), nothing for one who falls
 *   gain  = .3 walked + .7 told, without messages walked alone
 *   walked, told = max(0, smallest distance so far − distance) / distance at the start × useful cells / cells written
 *
 * "Told" is what following the message would bring the other walker. It weighs more than walking: who walks on ice that
 * nobody has called safe risks the reward of what is said in the same turn. In all, a seat earns at most 1 + 1, and less
 * than the solver unless both get across.
 */
import type { ActionReward } from "../environment.ts";

export const toldWeight = 0.7;

/** A walk, or following a message. Distances are of the shortest safe ways. */
export interface Attempt {
  /** Cells or words written. */
  readonly written: number;
  readonly before: number;
  readonly after: number;
  /** The smallest distance until now. */
  readonly closest: number;
  readonly atStart: number;
  readonly fell: boolean;
}

/** The share of the way that is new, times the share of what was written that was of use. */
export function gainOf({ written, before, after, closest, atStart, fell }: Attempt): number {
  if (written === 0 || fell) return 0;
  return (Math.max(0, closest - after) / atStart) * (Math.max(0, before - after) / written);
}

/** What an action brought: gains by its parts, which add up to 1 at most over an episode. */
interface Earned {
  readonly gains: Readonly<Record<string, number>>;
  readonly wellFormed: boolean;
  readonly problem: string | undefined;
}

export function rewardOf(team: number, { gains, wellFormed, problem }: Earned): ActionReward {
  const gain = Object.values(gains).reduce((sum, part) => sum + part, 0);
  const weighed = Object.entries(gains).map(([name, part]) => [name, 0.9 * part]);
  const format = wellFormed ? 0.1 * gain : 0;
  const parts: Record<string, number> = { format, ...Object.fromEntries(weighed) };
  const reward = { team, local: format + 0.9 * gain, parts };
  return problem === undefined ? reward : { ...reward, reason: problem };
}

/** Nothing is to be earned where there is nothing left to do. */
export function noReward(problem: string): ActionReward {
  return rewardOf(0, { gains: {}, wellFormed: false, problem });
}
