/** Retries after service failures, with bounded exponential back-off. */
import { setTimeout as delay } from "node:timers/promises";
import { ServiceError, TroupeError } from "../errors.ts";

export interface RetryOptions {
  /** Tries after the first. */
  readonly retries: number;
  /** Before the first retry, in milliseconds; doubled each time, up to the longest. */
  readonly firstDelay: number;
  readonly longestDelay: number;
  /** Resolves, or rejects, at once if the signal is aborted. Default: by the clock. */
  readonly sleep?: (milliseconds: number, signal: AbortSignal | undefined) => Promise<void>;
  /** Whether to try again after a failure. Default: `retries` times. @param attempt from 0 */
  readonly isRetried?: (failure: ServiceError, attempt: number) => boolean;
}

export const standardRetries: RetryOptions = { retries: 4, firstDelay: 500, longestDelay: 30_000 };

/**
 * The result of `work`, retried while it fails with a ServiceError. Any other error, and the last failure, is thrown.
 * @throws TroupeError `cancelled` if the work fails after the signal is aborted, for example with an `AbortError`
 * @param work gets the number of the try, from 0
 */
export async function retrying<T>(
  work: (attempt: number) => T | Promise<T>,
  options: RetryOptions,
  signal?: AbortSignal,
): Promise<T> {
  const { retries, firstDelay, longestDelay, sleep = sleepByClock } = options;
  const { isRetried = (_, attempt) => attempt < retries } = options;
  for (let attempt = 0; ; attempt++) {
    try {
      return await work(attempt);
    } catch (error) {
      const isService = error instanceof ServiceError;
      if (signal?.aborted === true && (isService || !(error instanceof TroupeError)))
        throw new TroupeError("cancelled", "The call was cancelled.", { cause: error });
      if (!isService || !isRetried(error, attempt)) throw error;
      // An aborted wait ends at once; the next try then finds the signal aborted.
      const usual = Math.min(longestDelay, firstDelay * 2 ** attempt);
      const milliseconds = Math.min(Math.max(usual, error.retryAfter ?? 0), longestTimer);
      await sleep(milliseconds, signal).catch(() => {});
    }
  }
}

/** Node's timers fire immediately if the delay is longer. */
const longestTimer = 2 ** 31 - 1;

function sleepByClock(milliseconds: number, signal: AbortSignal | undefined): Promise<void> {
  return delay(milliseconds, undefined, signal && { signal });
}
