/**
 * A circuit breaker: after some failures in a row, or if the service asks for it, all questions wait. After the pause one question is
 * asked; the others follow once it is answered.
 */
import { setTimeout as delay } from "node:timers/promises";
import { ServiceError, TroupeError } from "../../errors.ts";
import { showDuration } from "../../format.ts";
import type { RetryOptions } from "../../retry.ts";
import type { CoachOptions } from "./options.ts";

export interface BreakerContext {
  readonly sleep?: RetryOptions["sleep"];
  readonly report?: ((notice: string) => void) | undefined;
  readonly signal?: AbortSignal | undefined;
}

export interface Breaker {
  /**
   * The result of `ask`, which is called when the service may be asked.
   * @throws ServiceError that of `ask`, or if the service still fails after the last pause; TroupeError `cancelled`
   */
  pass<T>(ask: () => Promise<T>): Promise<T>;
}

const longestPause = 600_000;

export function circuitBreaker(
  { failures, pauseSeconds, pauses }: CoachOptions["breaker"],
  { sleep = byClock, report, signal }: BreakerContext,
): Breaker {
  let inRow = 0;
  let paused = 0;
  /** What questions wait for: a pause, or the question asked after it. Null: nothing. */
  let closed: Promise<void> | null = null;

  const pause = (milliseconds: number, reason: string): void => {
    report?.(`paused for ${showDuration(milliseconds / 1000)}: ${reason}`);
    closed = sleep(milliseconds, signal)
      .catch(() => {})
      .then(() => void (closed = null));
  };
  const failed = (error: ServiceError): void => {
    inRow += 1;
    const wait = error.retryAfter ?? 0;
    if (closed !== null) return;
    if (inRow >= failures && paused < pauses) {
      pause(Math.min(longestPause, Math.max(wait, 1000 * pauseSeconds * 2 ** paused)), error.message);
      paused += 1;
    } else if (wait > 0) pause(wait, error.message);
  };
  const succeeded = (): void => {
    if (paused > 0) report?.("continues");
    [inRow, paused] = [0, 0];
  };
  return {
    async pass(ask) {
      for (let wait = closed; wait !== null; wait = closed) {
        await wait;
        if (signal?.aborted === true) throw new TroupeError("cancelled", "The question was cancelled.");
      }
      // Without an `await` since the loop: only one question is the first after a pause. The others wait until its result counts.
      const probe = inRow >= failures ? Promise.withResolvers<void>() : null;
      if (probe !== null) closed = probe.promise;
      const reopen = (): void => {
        if (probe !== null) closed = null;
      };
      try {
        const answer = await ask();
        reopen();
        succeeded();
        return answer;
      } catch (error) {
        reopen();
        if (error instanceof ServiceError) failed(error);
        throw error;
      } finally {
        probe?.resolve();
      }
    },
  };
}

function byClock(milliseconds: number, signal: AbortSignal | undefined): Promise<void> {
  return delay(milliseconds, undefined, signal && { signal });
}
