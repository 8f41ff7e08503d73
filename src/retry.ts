/** Trying again what a service failed to do: bounded exponential back-off. */
import { setTimeout as delay } from "node:timers/promises";
import { ServiceError } from "./errors.ts";

export interface RetryOptions {
  /** Tries after the first one. */
  readonly retries: number;
  /** Before the first retry, in milliseconds; doubled each time, up to the longest. */
  readonly firstDelay: number;
  readonly longestDelay: number;
}

export const standardRetries: RetryOptions = { retries: 4, firstDelay: 500, longestDelay: 30_000 };

/**
 * What `work` gives, tried again while it fails with a ServiceError. Anything else is thrown at once; so is the last failure.
 * @param work gets the number of the try, from 0
 */
export async function retrying<T>(
  work: (attempt: number) => T | Promise<T>,
  { retries, firstDelay, longestDelay }: RetryOptions,
  signal?: AbortSignal,
): Promise<T> {
  for (let attempt = 0; ; attempt++) {
    try {
      return await work(attempt);
    } catch (error) {
      if (!(error instanceof ServiceError) || attempt >= retries || signal?.aborted === true) throw error;
      // An aborted wait ends at once; the next try then finds the signal aborted.
      await delay(Math.min(longestDelay, firstDelay * 2 ** attempt), undefined, signal && { signal }).catch(
        () => {},
      );
    }
  }
}
