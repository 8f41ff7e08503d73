/** Asks a judge about the actions of an episode, and gives them its verdicts with the rewards that follow (rewards.ts). */
import type { ActionReward } from "../environments/environment.ts";
import { ServiceError } from "../errors.ts";
import type { Episode, EpisodeNode, RewardedAction, Verdict } from "../rollout/episode.ts";
import { edgesOf, type Occurrence } from "../rollout/navigate.ts";
import type { GivenVerdict, Judge, JudgeUse } from "./judge.ts";
import { mixedRewards } from "./rewards.ts";

/**
 * Returns the episode with verdicts on the actions that have none yet, and the resulting rewards (`mixedRewards`). An
 * action whose verdict failed has no reward.
 * @throws TroupeError `cancelled`
 */
export async function judgeEpisode(episode: Episode, judge: Judge, use: JudgeUse): Promise<Episode> {
  const judged = await withVerdicts(episode, judge, use);
  const isUnchanged = judged === episode && (use.outcomeWeight ?? 0) === 0;
  return isUnchanged ? episode : mixedRewards(judged, use);
}

async function withVerdicts(episode: Episode, judge: Judge, use: JudgeUse): Promise<Episode> {
  const asked = episode.nodes.flatMap((node) => openActions(episode, node, use));
  if (asked.length === 0) return episode;
  const verdicts = new Map<string, Verdict>();
  for (const { node, action, verdict } of await verdictsOf(judge, episode, asked))
    verdicts.set(placeOf(node, action), checked(verdict));
  const isAsked = new Set(asked.map(({ node, action }) => placeOf(node.id, action.id)));
  const nodes = episode.nodes.map((node) => ({
    ...node,
    actions: node.actions.map((edge) => {
      const place = placeOf(node.id, edge.action);
      return isAsked.has(place) ? withVerdict(edge, verdicts.get(place) ?? unanswered) : edge;
    }),
  }));
  return { ...episode, nodes };
}

/** The episode with the environment's rewards. */
export function withoutVerdicts(episode: Episode): Episode {
  const nodes = episode.nodes.map((node) => ({
    ...node,
    actions: node.actions.map(withoutVerdict),
  }));
  return { ...episode, nodes };
}

function withoutVerdict(edge: RewardedAction): RewardedAction {
  const { verdict: _verdict, environmentReward: _reward, ...rest } = edge;
  return { ...rest, reward: rewardBefore(edge) };
}

/** The environment's reward, before any verdict. */
export function rewardBefore({ reward, verdict, environmentReward }: RewardedAction): ActionReward | null {
  return verdict === undefined ? reward : (environmentReward ?? null);
}

const unanswered: Verdict = { failure: "the judge gave no verdict" };

function placeOf(node: string, action: string): string {
  return JSON.stringify([node, action]);
}

function openActions(episode: Episode, node: EpisodeNode, { fills }: JudgeUse): Occurrence[] {
  return edgesOf(episode, node).filter(
    (_, index) =>
      node.actions[index]?.verdict === undefined && (fills === "all" || node.actions[index]?.reward === null),
  );
}

async function verdictsOf(
  judge: Judge,
  episode: Episode,
  asked: readonly Occurrence[],
): Promise<readonly GivenVerdict[]> {
  try {
    return await judge.judge(episode, asked);
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    const verdict = { failure: error.message };
    return asked.map(({ node, action }) => ({ node: node.id, action: action.id, verdict }));
  }
}

/** Judges may exceed the scale. */
function checked(verdict: Verdict): Verdict {
  if ("failure" in verdict || (verdict.score >= 0 && verdict.score <= 1)) return verdict;
  return { failure: `the score ${verdict.score} is not between 0 and 1` };
}

/** Its reward follows from the verdict. */
function withVerdict(edge: RewardedAction, verdict: Verdict): RewardedAction {
  const { reward } = edge;
  return { ...edge, reward: null, verdict, ...(reward === null ? {} : { environmentReward: reward }) };
}
