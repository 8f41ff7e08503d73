/** A run's judge: verdicts are recorded in the run's folder, and the share that may fail is limited. */
import { judgeEpisode } from "../judges/judge-episode.ts";
import type { ConfiguredJudge, JudgeContext } from "../judges/judge.ts";
import type { Episode, RewardedAction } from "../rollout/episode.ts";
import type { RecordedCalls } from "../runs/recorded-calls.ts";
import { boundFailures } from "./failures.ts";

/** A judge during a step, or an evaluation. */
export interface Judging {
  readonly judge: (episode: Episode) => Promise<Episode>;
  /**
   * Ends judging these episodes. Failures in them become final.
   * @throws TooManyFailures above the share of actions that may fail
   */
  readonly settle: (episodes: readonly Episode[]) => Promise<void>;
  readonly close: () => Promise<void>;
}

/** A judge to open, and where its verdicts are read and recorded. */
export interface RecordedJudge {
  readonly judge: ConfiguredJudge;
  readonly calls: RecordedCalls;
  readonly report?: JudgeContext["report"];
}

/** @param limit share of the judged actions that may fail */
export function startJudging(configured: ConfiguredJudge, context: JudgeContext, limit: number): Judging {
  const judge = configured.open(context);
  return {
    judge: (episode) => judgeEpisode(episode, judge, configured),
    async settle(episodes) {
      checkVerdicts(episodes, limit);
      await judge.settle();
    },
    close: () => judge.close(),
  };
}

/** Every part of a joint action that a judge was asked about. */
export function judgedActions({ nodes }: Pick<Episode, "nodes">): Judged[] {
  return nodes.flatMap(({ actions }) => actions).filter((edge): edge is Judged => edge.verdict !== undefined);
}

type Judged = RewardedAction & Required<Pick<RewardedAction, "verdict">>;

export function failuresOf(episode: Pick<Episode, "nodes">): string[] {
  return judgedActions(episode).flatMap(({ verdict }) => ("failure" in verdict ? [verdict.failure] : []));
}

/** As for episodes: some may fail, but not all. */
function checkVerdicts(episodes: readonly Episode[], limit: number): void {
  const asked = episodes.reduce((sum, episode) => sum + judgedActions(episode).length, 0);
  const failures = episodes.flatMap((episode) =>
    failuresOf(episode).map((failure) => ({ episode: episode.id, failure })),
  );
  const [first] = failures;
  const describe = (allowed: string): string =>
    `the judge failed on ${failures.length} of ${asked} actions, ${allowed}. The first, in ${first?.episode}: ${first?.failure}.`;
  boundFailures(failures.length, asked, limit, describe);
}
