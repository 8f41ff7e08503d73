/**
 * What interrupts a run: its signals, or people who see that a server does not answer.
 *
 * `stop` ends at once what changes no weights, such as sampling: a resumed run repeats the
 * step. The weights in the middle of an update cannot be saved, so an update ends at once only if a checkpoint has all
 * steps before it; otherwise it is finished, and its step saved. `cancel` ends everything.
 */
import { settledWithin } from "../calls/deadline.ts";
import type { Engine, ServerSilence } from "../engines/engine.ts";
import { TroupeError } from "../errors.ts";
import { showDuration, showText } from "../format.ts";
import type { Recipe } from "../recipes/schema.ts";
import type { Listener } from "./events.ts";

/** What ends a run early, as in `TrainOptions`. */
interface EndSignals {
  readonly stop?: AbortSignal;
  readonly cancel?: AbortSignal;
}

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

  constructor({ stop, cancel }: EndSignals) {
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

/** Seconds of silence that are worth a word. */
const longSilence = 5;

/** Reports when a server stops answering. From the first abort of `stop` or `cancel` the engine fails fast: Ctrl-C does not wait for it. */
export function attendServers({
  engine,
  stop,
  cancel,
  onEvent,
}: EndSignals & { readonly engine: Engine; readonly onEvent?: Listener }): Disposable {
  const all = new DisposableStack();
  const failFast = (): void => void all.use(engine.failFast?.());
  for (const signal of [stop, cancel]) {
    if (signal?.aborted === true) failFast();
    signal?.addEventListener("abort", failFast, { once: true });
    all.defer(() => signal?.removeEventListener("abort", failFast));
  }
  if (onEvent !== undefined && engine.load !== undefined) {
    const look = watcher(onEvent);
    const timer = setInterval(() => look(engine.load), 1000).unref();
    all.defer(() => clearInterval(timer));
  }
  return all;
}

/** Of the first server that does not answer; undefined: all do. */
export function silenceOf({ load = [] }: Pick<Engine, "load">): string | undefined {
  for (const { server, silence } of load) if (silence !== null) return showSilence({ server, ...silence });
  return undefined;
}

export function showSilence({ server, seconds, why }: ServerSilence & { readonly server: string }): string {
  return `${server} has not answered for ${showDuration(seconds)} (${showText(why, 200)})`;
}

/** Says once that a server is silent, and once that it answers again. */
export function watcher(emit: Listener): (load: Engine["load"]) => void {
  /** Seconds, by the server's place. */
  const silent = new Map<number, number>();
  return (load = []) => {
    for (const [place, { server, silence }] of load.entries()) {
      const before = silent.get(place);
      if (silence === null && before !== undefined) {
        silent.delete(place);
        emit({ type: "server-answers", server, seconds: before });
      }
      if (silence === null || silence.seconds < longSilence) continue;
      if (before === undefined) emit({ type: "server-silent", server, ...silence });
      silent.set(place, silence.seconds);
    }
  };
}
