/**
 * What episodes are called. An id of training counts the steps of reinforcement, and the page those of the run: an id is
 * only shown for use in commands.
 */
import type { EpisodeView } from "../api.ts";

/** `train/12/3` → `3`; `evaluation/40/team/17/sample/2` → `17, sample 2`; the whole of another id. */
export function taskIn(id: string): string {
  const [, task, sample] = /^(?:train\/\d+|evaluation\/\d+\/.+?)\/(\d+)(?:\/sample\/(\d+))?$/s.exec(id) ?? [];
  if (task === undefined) return id;
  return sample === undefined ? task : `${task}, sample ${sample}`;
}

/** `Step 212, task 3`, `After step 240, task 17` */
export function titleOf({ id, step, team }: Pick<EpisodeView, "id" | "step" | "team">): string {
  const task = taskIn(id);
  if (task === id) return id;
  return `${team === null ? "Step" : "After step"} ${step}, task ${task}`;
}
