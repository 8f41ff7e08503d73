/**
 * An engine behind a service that fails now and then: a verb that fails with a ServiceError is tried again, with bounded
 * exponential back-off. A ServiceError says that the verb had no effect, and verbs that change a policy are tried one at a
 * time, so no gradient is lost or counted twice and no sample is of another version than it was asked of. After the last
 * retry the failure is thrown, and the verbs behind it fail with it (verb-order.ts).
 */
import { retrying, standardRetries, type RetryOptions } from "../retry.ts";
import { engineAround } from "./around.ts";
import type { Engine } from "./engine.ts";

/** The engine itself where it retries already. An aborted signal of a verb ends its retries too. */
export function retryingEngine(engine: Engine, options: RetryOptions = standardRetries): Engine {
  if (engine.retries === true) return engine;
  const wrapped = engineAround(engine, (_, call, signal) => retrying(call, options, signal));
  return Object.assign(wrapped, { retries: true });
}
