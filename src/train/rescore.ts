/** Credits recorded episodes again: with another algorithm, other options, or a judge. */
import type { Algorithm, CreditedAction } from "../credit/algorithm.ts";
import { credit } from "../credit/credit.ts";
import { TroupeError } from "../errors.ts";
import type { Judge, JudgeUse } from "../judges/judge.ts";
import { mixedRewards } from "../judges/mixed-rewards.ts";
import { judgeEpisode, withoutVerdicts } from "../judges/judge-episode.ts";
import type { Episode } from "../rollout/episode.ts";
import { settleAll } from "../settle.ts";

export interface Rescoring {
  readonly algorithm: Algorithm;
  /** Absent: rewards stay as recorded. */
  readonly judge?: RescoringJudge;
}

export interface RescoringJudge {
  readonly judge: Judge;
  readonly use: JudgeUse;
  /** False: the judge is not told how episodes ended, as in training if it was asked while they grew. Default: true. */
  readonly knowsEnds?: boolean;
  /** All episodes with normalised rewards. Absent: scores are not normalised. */
  readonly normalised?: ((episodes: readonly Episode[]) => Promise<readonly Episode[]>) | undefined;
}

/**
 * @param episodes Of one step: comparisons and whitening over a batch apply to these.
 * @throws TroupeError `unsupported` if the algorithm needs something that is not recorded, or another tree
 */
export async function rescore(
  episodes: readonly Episode[],
  { algorithm, judge }: Rescoring,
): Promise<CreditedAction[]> {
  for (const episode of episodes) checkRescorable(episode, algorithm);
  if (judge === undefined) return credit(episodes, algorithm);
  const judged = await settleAll(episodes.map((episode) => judgedAnew(episode, judge)));
  return credit((await judge.normalised?.(judged)) ?? judged, algorithm);
}

async function judgedAnew(
  episode: Episode,
  { judge, use, knowsEnds = true }: RescoringJudge,
): Promise<Episode> {
  const { ends } = episode;
  const bare = withoutVerdicts(episode);
  const judged = await judgeEpisode(knowsEnds ? bare : { ...bare, ends: [] }, judge, use);
  return mixedRewards({ ...judged, ends }, use);
}

/** @throws TroupeError `unsupported` */
function checkRescorable(episode: Episode, { name, critic, kl, sampling }: Algorithm): void {
  if (critic !== null)
    throw lacking(`${name} needs the values of a critic`, "choose an algorithm without one");
  if (kl?.where === "reward") {
    const problem = `${name} subtracts KL to a reference from rewards, and needs the reference's log-probabilities`;
    throw lacking(problem, "rescore it without KL, kl.where=none, or with another algorithm");
  }
  const isCut = episode.nodes.some(({ kept }) => !kept);
  if (sampling.keep !== "all" || !isCut) return;
  throw new TroupeError(
    "unsupported",
    `${name} compares whole trajectories, and the episode ${episode.id} continued from only one of the sampled actions; ` +
      "choose an algorithm that compares the actions of one state, such as at-grpo",
  );
}

function lacking(problem: string, fix: string): TroupeError {
  return new TroupeError("unsupported", `${problem}, which a run's folder does not keep; ${fix}`);
}
