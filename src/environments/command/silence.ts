/** Whether a program, or a service, is still at work: whether it calls. */
import type { Session } from "../../gateway/session.ts";

const tick = 200;

/**
 * Calls `silent` once nobody has called for so long. The time in which roles write does not count, nor does that in which
 * this process was too busy to look.
 * @returns stops watching
 */
export function watchSilence(
  session: Pick<Session, "isSampling" | "calls">,
  seconds: number,
  silent: () => void,
): () => void {
  let [quiet, calls, last] = [0, session.calls, performance.now()];
  const timer = setInterval(() => {
    const now = performance.now();
    const isActive = session.isSampling || session.calls !== calls;
    quiet = isActive ? 0 : quiet + Math.min(now - last, 2 * tick);
    [calls, last] = [session.calls, now];
    if (quiet > 1000 * seconds) silent();
  }, tick);
  return () => clearInterval(timer);
}

/** Waits for a reward that somebody reports, until nobody has called for so long. @throws whatever the signal says */
export async function reportOrSilence(
  given: Promise<void>,
  session: Pick<Session, "isSampling" | "calls">,
  seconds: number,
  signal: AbortSignal,
): Promise<void> {
  const { promise: over, resolve, reject } = Promise.withResolvers<void>();
  const stop = (): void => reject(signal.reason as Error);
  signal.addEventListener("abort", stop);
  const unwatch = watchSilence(session, seconds, resolve);
  try {
    signal.throwIfAborted();
    await Promise.race([given, over]);
  } finally {
    unwatch();
    signal.removeEventListener("abort", stop);
    over.catch(() => {});
  }
}
