/**
 * What an interruption cancels. `stop` ends at once what changes no weights, such as sampling: a resumed run repeats the
 * step. The weights in the middle of an update cannot be saved, so an update ends at once only if a checkpoint has all
 * steps before it; otherwise it is finished, and its step saved. `cancel` ends everything.
 */
import { TroupeError } from "../errors.ts";
import { settledWithin } from "../calls/deadline.ts";
import type { Recipe } from "../recipes/schema.ts";
import type { TrainOptions } from "./options.ts";

export class Interrupts implements Disposable {
  /** Of work that leaves all weights as they are. */
  readonly reading: AbortSignal;
  /** Of work that changes weights, or that the next checkpoint needs. */
  readonly changing: AbortSignal;
  readonly #stop: AbortSignal | undefined;
  readonly #update = new AbortController();
  readonly #onStop = (): void => {
    if (this.#isSaved) this.#update.abort();
  };
  /** All finished steps are in a checkpoint; before the first there are none. */
  #isSaved = true;

  constructor({ stop, cancel }: Pick<TrainOptions, "stop" | "cancel">) {
    const given = [stop, cancel].filter((signal) => signal !== undefined);
    this.reading = AbortSignal.any(given);
    this.changing = AbortSignal.any([this.#update.signal, ...(cancel === undefined ? [] : [cancel])]);
    this.#stop = stop;
    if (stop?.aborted === true) this.#onStop();
    stop?.addEventListener("abort", this.#onStop);
  }

  get isStopped(): boolean {
    return this.#stop?.aborted === true;
  }

  /** A step is finished. */
  stepDone(): void {
    this.#isSaved = false;
  }

  /** A checkpoint has all steps. */
  saved(): void {
    this.#isSaved = true;
  }

  /**
   * The result of work that changes no weights; what does not notice the signal is left to itself.
   * @throws TroupeError `cancelled`
   */
  read<T>(work: Promise<T>): Promise<T> {
    return settledWithin(work, this.reading);
  }

  /** Whether the error is the consequence of an interruption. */
  isCause(error: unknown): boolean {
    return this.reading.aborted && error instanceof TroupeError && error.code === "cancelled";
  }

  [Symbol.dispose](): void {
    this.#stop?.removeEventListener("abort", this.#onStop);
  }
}

/**
 * Of sampling and of measuring what was sampled. What is sampled ahead must reach the checkpoint of the step before: a
 * stopped run could not sample it again.
 */
export function samplingSignal(
  { train }: Pick<Recipe, "train">,
  { reading, changing }: Interrupts,
): AbortSignal {
  return (train.maxLag ?? 0) === 0 ? reading : changing;
}
