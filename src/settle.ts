/** Concurrency of promises. */
import { TroupeError } from "./errors.ts";

/** Waits for all promises, so that a failure does not cancel its siblings. Then throws the first error. */
export async function settleAll<T>(promises: readonly Promise<T>[]): Promise<T[]> {
  const settled = await Promise.allSettled(promises);
  return settled.map((result) => {
    if (result.status === "rejected") throw result.reason;
    return result.value;
  });
}

/** @throws TroupeError `cancelled` if the signal is aborted while the work waits */
export type Limited = <T>(work: () => Promise<T>, signal?: AbortSignal) => Promise<T>;

/**
 * Runs at most `limit` of the works it is given at the same time; the others wait in the order in which they were given.
 * @param limit null: none
 */
export function limiter(limit: number | null): Limited {
  if (limit === null) return (work) => work();
  const waiting = new Set<() => void>();
  let running = 0;
  return async (work, signal) => {
    // Whoever is done hands its place to the first that waits.
    if (running >= limit) await turnIn(waiting, signal);
    else running += 1;
    try {
      return await work();
    } finally {
      const [next] = waiting;
      if (next === undefined) running -= 1;
      else next();
    }
  };
}

function turnIn(waiting: Set<() => void>, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const leave = (): void => {
      waiting.delete(begin);
      signal?.removeEventListener("abort", cancel);
    };
    const begin = (): void => {
      leave();
      resolve();
    };
    const cancel = (): void => {
      leave();
      reject(new TroupeError("cancelled", "Cancelled while it waited for its turn."));
    };
    waiting.add(begin);
    if (signal?.aborted === true) cancel();
    signal?.addEventListener("abort", cancel);
  });
}
