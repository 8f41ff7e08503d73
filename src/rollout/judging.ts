/** When the sampler asks a judge: after each action, or at the end of an episode. */
import type { Episode, SamplingScheme } from "./episode.ts";
import { nodeOf } from "./navigate.ts";
import { recordLine, withDescendants, type EpisodeStart, type GrowingNode } from "./record.ts";
import type { JudgeMoment, RolloutSetting } from "./setting.ts";

/** The moment a recipe asks for, or the latest at which nothing has needed the verdicts. */
export function momentOf(
  {
    when,
    comments = false,
  }: { readonly when?: JudgeMoment | undefined; readonly comments?: boolean | undefined },
  scheme: SamplingScheme,
): JudgeMoment {
  return when ?? (comments || choosesByReward(scheme) ? "action" : "episode");
}

type Judging = Pick<RolloutSetting, "judge" | "judgeMoment" | "scheme">;

/** Judges the new joint actions if they are judged at once. */
export async function judgeChildren(
  { judge, judgeMoment, scheme }: Judging,
  start: EpisodeStart,
  node: GrowingNode,
): Promise<void> {
  if (judge === null || momentOf({ when: judgeMoment }, scheme) === "episode") return;
  const judged = await judge(recordLine(start, node));
  for (const child of node.children.flatMap(withDescendants))
    child.rewarded = nodeOf(judged, child.id).actions;
}

/** Judges a complete episode; of actions that were judged before, nothing is asked. */
export async function judgeEnded({ judge }: Pick<Judging, "judge">, episode: Episode): Promise<Episode> {
  return judge === null ? episode : judge(episode);
}

/** Whether the sampler chooses, or ends an episode, by rewards. */
export function choosesByReward({ keep, stopAbove }: SamplingScheme): boolean {
  return keep === "best" || stopAbove !== undefined;
}
