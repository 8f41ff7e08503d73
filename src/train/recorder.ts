/** What a run leaves behind and tells: each record is written to its folder, then told. */
import type { Environment } from "../environments/environment.ts";
import type { Evaluation, RunResult, Timing } from "../runs/records.ts";
import type { Run } from "../runs/run.ts";
import { episodeRecords, sampleEpisode } from "./episode-records.ts";
import type { Episode } from "../rollout/episode.ts";
import type { Listener } from "./events.ts";
import type { ReinforcementRecord, StepRecord } from "./step-record.ts";

/** Which training episodes are written: those of every n-th step, and how many of each. */
export interface KeptEpisodes {
  readonly every: number;
  readonly perStep: number;
}

export interface Recorder {
  warmStartStep(record: StepRecord): Promise<void>;
  reinforcementStep(record: ReinforcementRecord): Promise<void>;
  evaluation(evaluation: Evaluation, timing: Timing, episodes: readonly Episode[]): Promise<void>;
  result(result: RunResult): Promise<void>;
}

/** Sample episodes shown of each evaluation. */
const samples = 2;

export function makeRecorder(
  run: Run,
  environment: Environment,
  emit: Listener,
  { every, perStep }: KeptEpisodes,
): Recorder {
  const show = (step: number, episodes: readonly Episode[]): void => {
    const shown = episodes.map((episode) => sampleEpisode(environment, episode));
    emit({ type: "sample-episodes", step, episodes: shown.filter((sample) => sample !== null) });
  };
  const commit = async ({ metrics, timing }: StepRecord, episodes: Parameters<Run["recordStep"]>[2]) => {
    await run.recordStep(metrics, timing, episodes);
    emit({ type: "step", metrics, timing });
  };
  return {
    warmStartStep: (record) => commit(record, []),
    reinforcementStep: async (record) => {
      const { played, credited, metrics } = record;
      const isKept = every > 0 && (metrics.stageStep - 1) % every === 0;
      await commit(record, isKept ? episodeRecords(played.kept, credited, perStep) : []);
      show(metrics.step, played.episodes.slice(0, 1));
    },
    evaluation: async (evaluation, timing, episodes) => {
      await run.recordEvaluation(evaluation, timing);
      emit({ type: "evaluation", evaluation, timing });
      show(evaluation.step, episodes.slice(0, samples));
    },
    result: async (result) => {
      await run.recordResult(result);
      emit({ type: "finished", result, alreadyDone: false });
    },
  };
}
