/** "Continue from here": plays on from a recorded state with a checkpoint's weights, for the viewer. */
import path from "node:path";
import { TroupeError } from "../../errors.ts";
import { keyAt, rootKey } from "../../random.ts";
import { recordedTip } from "../../rollout/continue.ts";
import type { Episode } from "../../rollout/episode.ts";
import { growFrom } from "../../rollout/grow.ts";
import { nodeOf } from "../../rollout/navigate.ts";
import { recordLine } from "../../rollout/record.ts";
import type { RolloutSetting } from "../../rollout/setting.ts";
import type { StoredEpisode } from "../../rollout/stored.ts";
import { layoutOf } from "../../runs/layout.ts";
import { mean, wilsonInterval } from "../../statistics.ts";
import { checkContinuable, playingSetting } from "../../train/playing.ts";
import { withServices } from "../../train/services.ts";
import type { ContinueEvent, ContinueRequest } from "../../view/api.ts";
import type { ViewedRun } from "../../view/run.ts";
import { withTrainedTeam, type TrainedTeam } from "../trained-team.ts";

/**
 * Plays on as often as asked, without a judge: what only a judge rewards has no reward.
 * @throws TroupeError for an episode, a node or a checkpoint that is not there, and those of the engine
 */
export async function continueFrom(
  run: ViewedRun,
  { episode: id, node, samples, greedy = false, step }: ContinueRequest,
  emit: (event: ContinueEvent) => void,
  signal: AbortSignal,
): Promise<void> {
  const { stored } = await run.stored(id);
  const { checkpoints } = layoutOf(run.directory);
  const place = step === undefined ? run.directory : path.join(checkpoints, `step-${step}`);
  const team = stored.entry.evaluation?.team ?? "team";
  emit({ type: "loading" });
  await withTrainedTeam(place, { runs: run.directory, team }, (trained) =>
    withServices(async (services) => {
      const { environment, recipe } = trained.resolved;
      checkContinuable(environment, recipe, `${stored.episode.id} cannot be continued`);
      const setting = { ...settingOf(trained, greedy), services, signal };
      const weights = Object.values(trained.weights)[0]?.step ?? null;
      emit({ type: "playing", step: weights, temperature: setting.sampling.temperature });
      const count = greedy ? 1 : samples;
      const ends: Episode["ends"][number]["outcome"][] = [];
      for (let sample = 0; sample < count; sample++) {
        signal.throwIfAborted();
        const episode = await continued(setting, trained, stored, { node, sample });
        ends.push(...episode.ends.map(({ outcome }) => outcome));
        emit({ type: "episode", sample, episode: await run.viewOf(inPlaceOf(stored, episode)) });
      }
      const successes = ends.filter(({ success }) => success).length;
      // What greedy play ends in is no sample of anything.
      const interval = greedy ? {} : { interval: wilsonInterval(successes, ends.length) };
      const score = mean(ends.map((end) => end.score));
      emit({ type: "done", ends: ends.length, successes, ...interval, score });
    }, run.directory),
  );
}

/** As in evaluations; where these are greedy as in training, since repeated they would be one episode many times. */
function settingOf(trained: TrainedTeam, greedy: boolean): RolloutSetting {
  const setting = playingSetting(trained.resolved, trained);
  if (greedy) return { ...setting, sampling: { temperature: 0, topP: 1 } };
  if (setting.sampling.temperature > 0) return setting;
  const { temperature, topK, topP } = trained.resolved.recipe.train;
  return { ...setting, sampling: { temperature, topK, topP } };
}

/** The way to the node, and what followed. */
async function continued(
  setting: RolloutSetting,
  { resolved: { recipe } }: TrainedTeam,
  { episode }: StoredEpisode,
  { node: id, sample }: { readonly node: string; readonly sample: number },
): Promise<Episode> {
  const recorded = nodeOf(episode, id);
  if (recorded.done)
    throw new TroupeError("bad_arguments", `${episode.id} ended at the node ${id}: there is nothing to play`);
  const key = keyAt(keyAt(rootKey(recipe.seed), ...episode.path), "view", id, sample);
  const tip = await recordedTip(setting, episode, recorded);
  const start = {
    task: episode.task,
    path: episode.path,
    id: `${episode.id}, sample ${sample + 1} from ${id || "the root"}`,
  };
  const ends = await growFrom(setting, key, start, tip);
  const line = recordLine(start, tip.node);
  const nodes = line.nodes.map((node) => ({ ...node, rendered: setting.environment.render(node.state) }));
  return {
    ...line,
    nodes,
    ends: ends.map(({ node, outcome, turns }) => ({ node: node.id, outcome, turns })),
  };
}

/** In the place of the episode that it continues. */
function inPlaceOf({ entry }: StoredEpisode, episode: Episode): StoredEpisode {
  const outcome = episode.ends[0]?.outcome;
  const success = outcome?.success === true ? 1 : 0;
  return {
    entry: { ...entry, id: episode.id, success, score: outcome?.score ?? 0 },
    episode,
    promptText: () => "",
  };
}
