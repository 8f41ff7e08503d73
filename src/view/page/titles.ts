/**
 * What runs' states and episodes are called. An id of training counts the steps of reinforcement, and the page those of the run: an id is
 * only shown for use in commands.
 */
import type { EpisodeView, RunLine } from "../api.ts";

const stateNames: Readonly<Record<RunLine["state"], string>> = {
  training: "training",
  stopped: "interrupted",
  ended: "finished",
  damaged: "damaged",
};

/** As `troupe runs` does, or whether `watch` stopped it. */
export function stateName({ state, step, watch }: Pick<RunLine, "state" | "step" | "watch">): string {
  const isWatched = state === "stopped" && watch?.action === "stop" && watch.step === step;
  return isWatched ? "stopped by watch" : stateNames[state];
}

/** `train/12/3` → `3`; `evaluation/40/team/17/sample/2` → `17, sample 2`; the whole of another id. */
export function taskIn(id: string): string {
  const [, task, sample] = /^(?:train\/\d+|evaluation\/\d+\/.+?)\/(\d+)(?:\/sample\/(\d+))?$/s.exec(id) ?? [];
  if (task === undefined) return id;
  return sample === undefined ? task : `${task}, sample ${sample}`;
}

/** `Step 212, task 3`, `Evaluation after step 240, task 17` */
export function titleOf({ id, step, team }: Pick<EpisodeView, "id" | "step" | "team">): string {
  const task = taskIn(id);
  if (task === id) return id;
  return `${team === null ? "Step" : "Evaluation after step"} ${step}, task ${task}`;
}
