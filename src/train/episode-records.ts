/** Episodes as lines of the run folder, and as samples for people. */
import type { CreditedAction } from "../credit/algorithm.ts";
import type { Environment } from "../environments/environment.ts";
import { actionsTo } from "../credit/lines.ts";
import type { Episode } from "../rollout/episode.ts";
import { nodeOf, rootOf, type Occurrence } from "../rollout/navigate.ts";
import { schemaVersion } from "../runs/records.ts";
import type { ActionRecord, EpisodeRecord } from "../runs/records.ts";
import type { SampleAction, SampleEpisode } from "./events.ts";

/** The first `limit` episodes with all their actions; a step's file stays small however many tasks the step has. */
export function episodeRecords(
  episodes: readonly Episode[],
  credited: readonly CreditedAction[],
  limit: number,
): (EpisodeRecord | ActionRecord)[] {
  const byEpisode = Map.groupBy(credited, (placed) => placed.episode);
  return episodes
    .slice(0, limit)
    .flatMap((episode, index) => [
      episodeRecord(episode, index),
      ...(byEpisode.get(episode) ?? []).map((placed) => actionRecord(placed, index)),
    ]);
}

/** The first line of an episode that was kept, as people read it. */
export function sampleEpisode(environment: Environment, episode: Episode): SampleEpisode | null {
  const end = episode.ends[0];
  if (end === undefined) return null;
  const last = nodeOf(episode, end.node);
  return {
    success: end.outcome.success,
    score: end.outcome.score,
    turns: end.turns,
    start: environment.render(rootOf(episode).state),
    end: environment.render(last.state),
    actions: actionsTo(episode, last).map(sampleAction),
  };
}

function episodeRecord(episode: Episode, index: number): EpisodeRecord {
  return {
    schema_version: schemaVersion,
    kind: "episode",
    episode: index,
    path: episode.path,
    task: episode.task,
    ends: episode.ends.map(({ node, outcome, turns }) => ({
      node,
      success: outcome.success,
      score: outcome.score,
      turns,
    })),
  };
}

function actionRecord({ action, node, reward, ...credit }: CreditedAction, index: number): ActionRecord {
  return {
    schema_version: schemaVersion,
    kind: "action",
    episode: index,
    node: node.id,
    kept: node.kept,
    role: action.role,
    policy: action.policy,
    turn: action.turn,
    phase: action.phase,
    prompt: [...action.prompt],
    tokens: [...action.tokens],
    logprobs: [...action.logprobs],
    text: action.reply.text,
    stopReason: action.stopReason,
    ...reward,
    frozen: action.frozen,
    ...(action.frozen ? {} : { group: credit.group, return: credit.return, advantage: credit.advantage }),
    ...(isLevel(credit.advantages) ? {} : { advantages: [...credit.advantages] }),
  };
}

/** The same for each token, as most algorithms have it. */
function isLevel(advantages: Float64Array): boolean {
  return advantages.every((advantage) => advantage === advantages[0]);
}

function sampleAction({ action, reward }: Occurrence): SampleAction {
  const { turn, role, reply } = action;
  if (reward === null) return { turn, role, text: reply.text, team: null, local: null };
  const { team, local, reason } = reward;
  return { turn, role, text: reply.text, team, local, ...(reason === undefined ? {} : { reason }) };
}
