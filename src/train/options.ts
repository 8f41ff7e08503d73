/** What a training is given. */
import type { Engine } from "../engines/engine.ts";
import type { Listener } from "./events.ts";
import type { Resolved } from "./resolved.ts";

export interface TrainOptions extends Resolved {
  /** The run's folder; created, or resumed if it holds a run of the same recipe. */
  readonly directory: string;
  /**
   * The run creates its policies in it; the caller closes it. Verbs that a service fails are retried as in the recipe's
   * `failures`.
   */
  readonly engine: Engine;
  readonly onEvent?: Listener;
  /** Early in the warm start, one task is played and emitted. It is not recorded and changes nothing. */
  readonly preview?: boolean;
  /**
   * Aborted: the run ends as interrupted at the next point at which no finished step is lost, after a checkpoint; a step
   * in progress is finished or repeated when the run resumes (interrupts.ts).
   */
  readonly stop?: AbortSignal;
  /** Aborted: the engine's work is cancelled; anything since the last checkpoint is lost. */
  readonly cancel?: AbortSignal;
}
