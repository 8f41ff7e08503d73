/** The servers of an engine during a run: people are told of a silence, and who wants the end does not wait for one. */
import type { Engine, ServerSilence } from "../engines/engine.ts";
import { showDuration, showText } from "../format.ts";
import type { Listener } from "./events.ts";
import type { TrainOptions } from "./options.ts";

/** Seconds of silence that are worth a word. */
const longSilence = 5;

/** From the first abort of `stop` or `cancel`, the engine fails fast. */
export function attendServers({
  engine,
  stop,
  cancel,
  onEvent,
}: Pick<TrainOptions, "engine" | "stop" | "cancel" | "onEvent">): Disposable {
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
