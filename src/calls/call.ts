/**
 * The border: everything outside this process (services, child processes, other machines) is asked through `call`.
 *
 * What comes back is one of three things, and the type says which:
 * - an **answer**: what was asked for, good or bad;
 * - a **fault** of the other side's making, such as a reply in a wrong format: data, with a reason;
 * - a **failure** of ours or of the service's. It was retried, it is counted, and it has no value that could be taken for
 *   an answer, recorded or rewarded.
 *
 * `retry.ts` waits between attempts, `deadline.ts` ends them, `recorded.ts` asks each question once in a run, `http.ts`
 * and `socket.ts` bound replies, `child.ts` starts programs, `secrets.ts` redacts what is kept.
 */
import { ServiceError } from "../errors.ts";
import { withinTime } from "./deadline.ts";
import { retrying, type RetryOptions } from "./retry.ts";
import type { Service } from "./services.ts";

export type Outcome<T> =
  | { readonly answer: T; readonly fault?: never; readonly failure?: never }
  | { readonly fault: string; readonly answer?: never; readonly failure?: never }
  | { readonly failure: ServiceError; readonly answer?: never; readonly fault?: never };

/** Thrown by an attempt: the other side replied, but not with what it was asked for. It is asked again like a failure. */
export class Fault extends ServiceError {}

export interface CallOptions {
  readonly signal?: AbortSignal | undefined;
  /** Default: one attempt. */
  readonly retries?: RetryOptions | undefined;
  /** Of each attempt; null: none. Default: none. */
  readonly milliseconds?: number | null;
  /** What each attempt passes before it begins, such as a free slot or the end of a pause. Its time does not count. */
  readonly gate?: Gate;
}

export type Gate = <T>(attempt: () => Promise<T>) => Promise<T>;

const once: RetryOptions = { retries: 0, firstDelay: 0, longestDelay: 0 };

/**
 * Asks a service. Every attempt is counted by it, with its duration and how it ended.
 * @param attempt throws a Fault for a reply that is none, a ServiceError for a failure; gets the number of the try, from 0
 * @throws TroupeError `cancelled`; whatever else `attempt` throws, which is a bug, a budget or a user's mistake
 */
export async function call<T>(
  service: Service,
  attempt: (signal: AbortSignal, attempt: number) => Promise<T>,
  { signal, retries = once, milliseconds = null, gate = (work) => work() }: CallOptions = {},
): Promise<Outcome<T>> {
  const tried = (number: number): Promise<T> =>
    gate(() =>
      service.attempt(number, () =>
        withinTime((own) => attempt(own, number), milliseconds, service.name, signal),
      ),
    );
  try {
    const answer = await retrying(tried, retries, signal);
    service.ended("answered");
    return { answer };
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    service.ended(error instanceof Fault ? "faulty" : "failed", error.message);
    return error instanceof Fault ? { fault: error.message } : { failure: error };
  }
}

/** The answer. @throws ServiceError for a fault or a failure: for callers who can do nothing without an answer */
export function answerOf<T>(outcome: Outcome<T>): T {
  if (outcome.failure !== undefined) throw outcome.failure;
  if (outcome.fault !== undefined) throw new Fault(outcome.fault);
  return outcome.answer;
}
