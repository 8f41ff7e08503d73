/**
 * An engine behind an unreliable service: a verb that fails with a ServiceError is retried with bounded exponential
 * back-off. A ServiceError means that the verb had no effect, and verbs that change a policy are tried one at a time,
 * so no gradient is lost or counted twice and every sample has the requested version. After the last retry the error is
 * thrown, and the verbs after it fail too (verb-order.ts).
 */
import { retrying, standardRetries, type RetryOptions } from "../calls/retry.ts";
import { engineAround } from "./around.ts";
import type { Engine } from "./engine.ts";

/** Returns the engine itself if it already retries. An aborted signal of a verb also ends its retries. */
export function retryingEngine(engine: Engine, options: RetryOptions = standardRetries): Engine {
  if (engine.retries === true) return engine;
  const wrapped = engineAround(engine, (_, call, signal) => retrying(call, options, signal));
  return Object.assign(wrapped, { retries: true });
}
