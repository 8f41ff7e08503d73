/**
 * The rewards of an action. Both are paid for what is new, so that repeating or splitting work earns nothing more:
 *
 *   local = .2 execution + .3 present + .5 usable    the shares of the seat's artefacts, above its best so far
 *   team  = the score of the submission, above the best score so far
 *   score = min(1, gap / target), with gap the share of the way from the best constant prediction to gold
 */
import type { ActionReward } from "../environment.ts";
import { isPresent } from "./artefacts/check.ts";
import type { ArtefactReport, Earned, LastAction } from "./state.ts";

const shares: Earned = { execution: 0.2, present: 0.3, usable: 0.5 };
export const nothingEarned: Earned = { execution: 0, present: 0, usable: 0 };

export interface Paid {
  readonly reward: ActionReward;
  readonly earned: Earned;
}

/** @param terms of the team's reward, for evaluations */
export function rewardOf(
  work: LastAction,
  artefacts: readonly ArtefactReport[],
  before: Earned,
  gained: number,
  terms: Readonly<Record<string, number>>,
): Paid {
  const now = earnedBy(work, artefacts);
  const earned: Earned = {
    execution: Math.max(before.execution, now.execution),
    present: Math.max(before.present, now.present),
    usable: Math.max(before.usable, now.usable),
  };
  const parts = {
    execution: shares.execution * (earned.execution - before.execution),
    present: shares.present * (earned.present - before.present),
    usable: shares.usable * (earned.usable - before.usable),
  };
  const local = parts.execution + parts.present + parts.usable;
  const reason = reasonOf(work, artefacts);
  const reward = { team: gained, local, parts, terms };
  return { reward: reason === null ? reward : { ...reward, reason }, earned };
}

function earnedBy({ program, problem }: LastAction, artefacts: readonly ArtefactReport[]): Earned {
  const share = (holds: (one: ArtefactReport) => boolean): number =>
    artefacts.filter(holds).length / Math.max(1, artefacts.length);
  const present = share(isPresent);
  return {
    // A program that leaves nothing is worth nothing.
    execution: program !== null && problem === null && present > 0 ? 1 : 0,
    present,
    usable: share(({ usable }) => usable),
  };
}

function reasonOf({ program, problem }: LastAction, artefacts: readonly ArtefactReport[]): string | null {
  const bad = artefacts.filter(({ usable }) => !usable).map(({ name, note }) => `${name}: ${note}`);
  if (problem !== null) return `the program: ${problem}`;
  if (bad.length > 0) return [program === null ? "no program" : [], bad.slice(0, 4)].flat().join("; ");
  return null;
}
