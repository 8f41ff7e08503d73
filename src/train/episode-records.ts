/** Episodes for the run's folder, and as samples for people. */
import type { CreditedAction } from "../credit/algorithm.ts";
import { actionsTo } from "../credit/trajectories.ts";
import type { Environment } from "../environments/environment.ts";
import type { Action, Episode, EpisodeNode } from "../rollout/episode.ts";
import { nodeOf, rootOf, type Occurrence } from "../rollout/navigate.ts";
import type { RolloutPolicy } from "../rollout/setting.ts";
import { newEpisode, type ActionCredit } from "../rollout/stored.ts";
import type { NewEpisode } from "../runs/episode-log.ts";
import type { EpisodeEntry } from "../runs/episode-entries.ts";
import type { SampleAction, SampleEpisode } from "./events.ts";

/** The context in which an episode was sampled. */
export type EpisodePlace = Pick<EpisodeEntry, "step" | "evaluation">;

interface Recorded {
  readonly environment: Environment;
  /** By name: prompts are also stored as text. */
  readonly policies: Readonly<Record<string, RolloutPolicy>>;
}

/** Training episodes with their credit. */
export function trainingRecords(
  recorded: Recorded,
  step: number,
  episodes: readonly Episode[],
  credited: readonly CreditedAction[],
): NewEpisode[] {
  const byEpisode = Map.groupBy(credited, (placed) => placed.episode);
  return episodes.map((episode) => {
    const trained = (byEpisode.get(episode) ?? []).filter(({ action }) => !action.frozen);
    return recordOf(recorded, episode, { step }, trained.map(creditOf));
  });
}

/** An episode with rendered states and prompts as text. */
export function recordOf(
  { environment, policies }: Recorded,
  episode: Episode,
  place: EpisodePlace,
  credit?: readonly ActionCredit[],
): NewEpisode {
  const nodes = episode.nodes.map((node) => ({ ...node, rendered: environment.render(node.state) }));
  const decode = (policy: string, tokens: Int32Array) => policies[policy]?.tokenizer.decode(tokens) ?? "";
  return newEpisode({ ...episode, nodes }, place, decode, credit);
}

function creditOf(credited: CreditedAction): ActionCredit {
  const { action, group, advantage, advantages } = credited;
  const isLevel = advantages.every((one) => one === advantages[0]);
  const given = { action: action.id, group, return: credited.return, advantage };
  return isLevel ? given : { ...given, advantages: [...advantages] };
}

/** The first kept trajectory of an episode, for people. */
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

function sampleAction({ action, node, reward }: Occurrence): SampleAction {
  const { turn, role, reply } = action;
  const { team, local, reason } = reward ?? { team: null, local: null };
  const said = verdictOn(node, action);
  return {
    turn,
    role,
    text: reply.text,
    team,
    local,
    ...(reason === undefined ? {} : { reason }),
    ...(said === undefined ? {} : { verdict: said }),
  };
}

function verdictOn({ actions }: EpisodeNode, { id }: Action): string | undefined {
  const verdict = actions.find((edge) => edge.action === id)?.verdict;
  if (verdict === undefined) return undefined;
  return "failure" in verdict ? `no verdict: ${verdict.failure}` : verdict.explanation;
}
