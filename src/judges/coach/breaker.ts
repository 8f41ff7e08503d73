/**
 * A circuit breaker: after some failures in a row, or if the service asks for it, all questions wait. After the pause one question is
 * asked; the others follow once it is answered. A service that still fails after the last pause is not asked again.
 */
import { setTimeout as delay } from "node:timers/promises";
import { Fault } from "../../calls/call.ts";
import { OutageError, ServiceError, TroupeError } from "../../errors.ts";
import { showDuration } from "../../format.ts";
import type { RetryOptions } from "../../calls/retry.ts";
import type { CoachOptions } from "./options.ts";

export interface BreakerContext {
  readonly sleep?: RetryOptions["sleep"];
  readonly report?: ((notice: string) => void) | undefined;
  readonly signal?: AbortSignal | undefined;
}

const longestPause = 600_000;

export class CircuitBreaker {
  readonly #limits: CoachOptions["breaker"];
  readonly #context: BreakerContext;
  /** Failures, and pauses, in a row. */
  #failures = 0;
  #pauses = 0;
  /** What questions wait for: a pause, or the question asked after it. Null: nothing. */
  #closed: Promise<void> | null = null;
  /** Why the service is not asked again. Null: it may be. */
  #outage: OutageError | null = null;

  constructor(limits: CoachOptions["breaker"], context: BreakerContext) {
    this.#limits = limits;
    this.#context = context;
  }

  /**
   * The result of `ask`, which is called when the service may be asked.
   * @throws ServiceError that of `ask`; OutageError if the service still fails after the last pause; TroupeError `cancelled`
   */
  async pass<T>(ask: () => Promise<T>): Promise<T> {
    while (this.#closed !== null) await this.#untilOpen(this.#closed);
    if (this.#outage !== null) throw this.#outage;
    // Nothing is awaited in between: only one question is the first after a pause. The others wait until its result counts.
    const probe = this.#failures >= this.#limits.failures ? Promise.withResolvers<void>() : null;
    if (probe !== null) this.#closed = probe.promise;
    const reopen = (): void => {
      if (probe !== null) this.#closed = null;
    };
    try {
      const answer = await ask();
      reopen();
      this.#succeeded();
      return answer;
    } catch (error) {
      reopen();
      // A service that answers works, whatever it answers.
      if (error instanceof Fault) this.#succeeded();
      else if (error instanceof ServiceError) this.#failed(error);
      throw this.#outage ?? error;
    } finally {
      probe?.resolve();
    }
  }

  async #untilOpen(closed: Promise<void>): Promise<void> {
    await closed;
    if (this.#context.signal?.aborted === true)
      throw new TroupeError("cancelled", "The question was cancelled.");
  }

  #succeeded(): void {
    if (this.#pauses > 0) this.#context.report?.("continues");
    this.#failures = 0;
    this.#pauses = 0;
  }

  #failed(error: ServiceError): void {
    const { retryAfter = 0, message } = error;
    const { failures, pauseSeconds, pauses } = this.#limits;
    this.#failures += 1;
    if (this.#closed !== null) return;
    if (this.#failures < failures) {
      if (retryAfter > 0) this.#pause(retryAfter, message);
    } else if (this.#pauses < pauses) {
      const usual = 1000 * pauseSeconds * 2 ** this.#pauses;
      this.#pause(Math.min(longestPause, Math.max(retryAfter, usual)), message);
      this.#pauses += 1;
    } else this.#outage = outageOf(this.#failures, this.#pauses, error);
  }

  #pause(milliseconds: number, reason: string): void {
    const { report, sleep = byClock, signal } = this.#context;
    report?.(`paused for ${showDuration(milliseconds / 1000)}: ${reason}`);
    this.#closed = sleep(milliseconds, signal)
      .catch(() => {})
      .then(() => void (this.#closed = null));
  }
}

function outageOf(failures: number, pauses: number, error: ServiceError): OutageError {
  const tried = pauses === 0 ? "" : ` and ${pauses} pause${pauses === 1 ? "" : "s"}`;
  const after = `${failures} failure${failures === 1 ? "" : "s"} in a row${tried}`;
  return new OutageError(`The judge gave up after ${after} (judge.breaker): ${error.message}`, {
    cause: error,
  });
}

function byClock(milliseconds: number, signal: AbortSignal | undefined): Promise<void> {
  return delay(milliseconds, undefined, signal && { signal });
}
