/** The listener of a program that trains: it may be async, and errors of it end the training, not the process. */
import type { Listener, TrainEvent } from "../train/events.ts";

export interface Listening {
  readonly onEvent: Listener;
  /** @throws what the listener was rejected with */
  readonly end: () => void;
}

/** A rejection is thrown at the next event, or at the end; one that comes later is unhandled. */
export function listening(listener: (event: TrainEvent) => unknown): Listening {
  let failed: { readonly error: unknown } | null = null;
  let hasEnded = false;
  const check = (): void => {
    if (failed !== null) throw failed.error;
  };
  const reject = (error: unknown): void => {
    if (hasEnded) throw error;
    failed ??= { error };
  };
  const onEvent: Listener = (event) => {
    check();
    const answer = listener(event);
    if (answer instanceof Promise) void answer.catch(reject);
  };
  const end = (): void => {
    hasEnded = true;
    check();
  };
  return { onEvent, end };
}
