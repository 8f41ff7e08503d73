/** Names inside a run folder. */
import path from "node:path";
import { isPresentSync } from "../present.ts";

export interface RunLayout {
  readonly directory: string;
  readonly recipe: string;
  readonly metrics: string;
  readonly timings: string;
  readonly evaluations: string;
  /** Limits that were crossed, and what was done. Absent: none. */
  readonly watch: string;
  /** Recorded verdicts; never rewound. */
  readonly verdicts: string;
  /** Recorded program executions; never rewound. */
  readonly programs: string;
  /** Trajectories that ended and whose steps are in no checkpoint yet. Absent if there are none: see trajectory-log.ts. */
  readonly trajectories: string;
  /** Contents of the files that programs read and wrote, by hash; never rewound. */
  readonly files: string;
  /** What isolated those programs, by first step. Absent if there were none. */
  readonly sandboxes: string;
  /** What computed the run, by first step. */
  readonly engines: string;
  /** What a program of the engine wrote to its standard error. Absent if there is none. */
  readonly engineLog: string;
  /** Hashes of the user's modules, by first step. Absent if the recipe has none. */
  readonly modules: string;
  /** Contents of the model directories that the recipe names, by first step. Absent if it names none. */
  readonly modelFiles: string;
  /** Revision and digests of the data sets, by first step. Absent if the environment uses none. */
  readonly data: string;
  readonly result: string;
  /** The folder of stored episodes: see episode-log.ts. */
  readonly episodes: string;
  readonly episodeIndex: string;
  readonly episodeData: string;
  readonly promptData: string;
  readonly checkpoints: string;
  /** Untrained models created for the run. */
  readonly models: string;
  /** The trained policies at the start of reinforcement. */
  readonly beginning: string;
  /** The viewer's index of the episodes, which it builds again if it is gone. No part of the run's records. */
  readonly view: string;
}

export function layoutOf(directory: string): RunLayout {
  const at = (name: string) => path.join(directory, name);
  return {
    directory,
    recipe: at("recipe.yaml"),
    metrics: at("metrics.jsonl"),
    timings: at("timings.jsonl"),
    evaluations: at("evaluations.jsonl"),
    watch: at("watch.jsonl"),
    verdicts: at("verdicts.jsonl"),
    programs: at("programs.jsonl"),
    trajectories: at("trajectories.jsonl"),
    files: at("files"),
    sandboxes: at("sandboxes.jsonl"),
    engines: at("engines.jsonl"),
    engineLog: at("engine.log"),
    modules: at("modules.jsonl"),
    modelFiles: at("models.jsonl"),
    data: at("data.jsonl"),
    result: at("result.json"),
    episodes: at("episodes"),
    episodeIndex: at("episodes/index.jsonl"),
    episodeData: at("episodes/episodes.jsonl.gz"),
    promptData: at("episodes/prompts.jsonl.gz"),
    checkpoints: at("checkpoints"),
    models: at("models"),
    beginning: at("beginning"),
    view: at("view"),
  };
}

/** The run's folder that contains a path: the nearest one with a recipe. Null: none. */
export function runAround(place: string): string | null {
  if (isPresentSync(layoutOf(place).recipe)) return place;
  const above = path.dirname(place);
  return above === place ? null : runAround(above);
}
