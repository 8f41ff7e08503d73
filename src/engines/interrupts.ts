/**
 * Signals while JavaScript cannot run, because a template, a module or a tokenizer never returns, or when the process
 * waits for a blocked thread at its end. Needs the compiled addon; without it such a process must be killed.
 */
import { nativeSignals } from "./local/native.ts";

/**
 * Ends the process. A thread that is blocked, such as by a pipe that nobody writes, delays that by 2 s; the exit code is
 * then 130.
 */
export function exitInterrupted(code: number): never {
  nativeSignals()?.endSoon?.();
  process.exit(code);
}

/**
 * Call it once listeners for SIGINT and SIGTERM are added. From then on the process ends 10 s after a signal that
 * JavaScript did not notice, 2 s after the second one at the latest, and at the third at once; exit code 130.
 * @returns to be called when the first signal is noticed
 */
export function watchSignals(): () => void {
  const native = nativeSignals();
  native?.watchSignals?.();
  return () => native?.signalSeen?.();
}
