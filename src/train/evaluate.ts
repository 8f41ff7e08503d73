/** A team on held-out tasks: the same tasks for every team, run and seed. */
import type { Environment } from "../environments/environment.ts";
import type { Engine } from "../engines/engine.ts";
import { keyAt, rootKey } from "../random.ts";
import type { Episode, EpisodeEnd } from "../rollout/episode.ts";
import { growEpisode } from "../rollout/grow.ts";
import { oneLine } from "../rollout/setting.ts";
import type { RolloutPolicy, RolloutSetting } from "../rollout/setting.ts";
import { settleAll } from "../rollout/settle.ts";
import type { Evaluation } from "../runs/records.ts";
import { mean, wilsonInterval } from "../statistics.ts";
import type { Team } from "../teams/team.ts";

export interface EvaluationSetting {
  readonly engine: Pick<Engine, "sample">;
  readonly environment: Environment;
  readonly team: Team;
  readonly policies: Readonly<Record<string, RolloutPolicy>>;
  readonly tasks: number;
  readonly temperature: number;
  readonly topP: number;
  /** Of sampling; tasks stay the same. Default: 0. */
  readonly seed?: number | undefined;
  readonly onProgress?: (done: number) => void;
  readonly signal?: AbortSignal | undefined;
}

export type Scores = Omit<Evaluation, "schema_version" | "step" | "moment" | "team">;

export interface EvaluatedEpisodes {
  readonly scores: Scores;
  readonly episodes: readonly Episode[];
}

/** Held-out tasks do not depend on a recipe's seed, so that runs with other seeds are measured by the same ruler. */
const heldOutSeed = 0;

/** Plays `tasks` held-out tasks once each. Throws `cancelled` where the signal aborts. */
export async function evaluatePolicies(setting: EvaluationSetting): Promise<EvaluatedEpisodes> {
  const [root, drawn] = [rootKey(heldOutSeed), rootKey(setting.seed ?? heldOutSeed)];
  const rollout = rolloutSetting(setting);
  let done = 0;
  const play = async (index: number): Promise<Episode> => {
    const path = ["held-out", index];
    const task = setting.environment.task("heldOut", keyAt(root, ...path, "task"));
    const episode = await growEpisode(rollout, drawn, { path, task });
    done += 1;
    setting.onProgress?.(done);
    return episode;
  };
  const episodes = await settleAll(Array.from({ length: setting.tasks }, (_, index) => play(index)));
  return { episodes, scores: scoresOf(episodes, setting.team.turns) };
}

function rolloutSetting(setting: EvaluationSetting): RolloutSetting {
  const { engine, environment, team, policies, temperature, topP, signal } = setting;
  return {
    engine,
    environment,
    team,
    policies,
    scheme: oneLine,
    score: () => 0,
    sampling: { temperature, topP },
    ...(signal === undefined ? {} : { signal }),
  };
}

function scoresOf(episodes: readonly Episode[], turns: number): Scores {
  const ends = episodes.flatMap((episode) => episode.ends);
  const successes = ends.filter(({ outcome }) => outcome.success);
  const tokens = episodes.map(tokensOf);
  return {
    tasks: ends.length,
    successes: successes.length,
    success: successes.length / ends.length,
    ...wilsonInterval(successes.length, ends.length),
    score: mean(ends.map(({ outcome }) => outcome.score)),
    turns: mean(ends.map((end) => end.turns)),
    successByTurn: Array.from({ length: turns }, (_, turn) => share(successes, ends.length, turn + 1)),
    promptTokens: tokens.reduce((sum, { prompt }) => sum + prompt, 0),
    sampledTokens: tokens.reduce((sum, { sampled }) => sum + sampled, 0),
  };
}

function share(successes: readonly EpisodeEnd[], trials: number, turns: number): number {
  return successes.filter((end) => end.turns <= turns).length / trials;
}

function tokensOf(episode: Episode): { prompt: number; sampled: number } {
  let [prompt, sampled] = [0, 0];
  for (const end of episode.ends) {
    for (let node = end.node; node.parent !== null; node = node.parent) {
      for (const action of node.actions) {
        prompt += action.prompt.length;
        sampled += action.tokens.length;
      }
    }
  }
  return { prompt, sampled };
}
