/** Ctrl-C: the first asks a run to stop, the second ends the process at once. */
import { watchSignals } from "../engines/interrupts.ts";
import { exitCodes } from "./exit.ts";

export interface Stopping extends Disposable {
  /** Aborted by the first Ctrl-C (or SIGTERM). */
  readonly stop: AbortSignal;
  /** Does what the first Ctrl-C does. */
  readonly request: () => void;
}

/**
 * Under `npm start` one Ctrl-C arrives twice, from the terminal and from npm. A signal within this many milliseconds
 * counts as the same press.
 */
const samePress = 500;

export function listenForStop(notice: (line: string) => void): Stopping {
  const controller = new AbortController();
  let pressed = -Infinity;
  let seen: (() => void) | undefined;
  const onSignal = (signal: NodeJS.Signals): void => {
    seen?.();
    const since = performance.now() - pressed;
    if (since < samePress) return;
    if (controller.signal.aborted) process.exit(exitCodes.interrupted);
    pressed = performance.now();
    controller.abort();
    notice(
      `${signal}: stopping and saving; Ctrl-C again exits at once and discards the steps since the last checkpoint`,
    );
  };
  const signals = ["SIGINT", "SIGTERM"] as const;
  for (const signal of signals) process.on(signal, onSignal);
  seen = watchSignals();
  return {
    stop: controller.signal,
    request: () => controller.abort(),
    [Symbol.dispose]: () => {
      for (const signal of signals) process.off(signal, onSignal);
    },
  };
}
