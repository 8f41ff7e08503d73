/** How much a recipe would do, counted before anything is done. */
import type { SamplingScheme } from "../../rollout/episode.ts";
import { oneLine } from "../../rollout/setting.ts";
import type { Team } from "../../teams/team.ts";

/** Actions, and the prompts they follow: a group's prompt is computed once. */
export interface Work {
  readonly prompts: number;
  readonly actions: number;
}

export const noWork: Work = { prompts: 0, actions: 0 };

/** One episode in which nobody succeeds before the last turn: the most it can be. */
export function episodeWork(team: Team, scheme: SamplingScheme): Work {
  let [tips, work] = [1, noWork];
  for (let turn = 0; turn < team.turns; turn++) {
    for (const [phase, roles] of team.phases.entries()) {
      const branch = turn === 0 && phase === 0 ? scheme.branch.root : scheme.branch.inner;
      work = add(work, { prompts: tips * roles.length, actions: tips * branch * roles.length });
      tips = scheme.keep === "all" ? tips * branch : tips;
    }
  }
  return work;
}

/** One task of an evaluation: every role acts once in a turn. */
export function evaluationWork(team: Team): Work {
  return episodeWork(team, oneLine);
}

export function add(left: Work, right: Work): Work {
  return { prompts: left.prompts + right.prompts, actions: left.actions + right.actions };
}

export function times(work: Work, factor: number): Work {
  return { prompts: work.prompts * factor, actions: work.actions * factor };
}
