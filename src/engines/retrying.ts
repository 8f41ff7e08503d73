/**
 * An engine behind an unreliable service: a verb that fails with a ServiceError is retried with bounded exponential
 * back-off. A ServiceError means that the verb had no effect, and verbs that change a policy are tried one at a time,
 * so no gradient is lost or counted twice and every sample has the requested version. After the last retry the error is
 * thrown, and the verbs after it fail too (verb-order.ts).
 */
import { answerOf, call } from "../calls/call.ts";
import { Service } from "../calls/services.ts";
import { retrying, standardRetries, type RetryOptions } from "../calls/retry.ts";
import { engineAround } from "./around.ts";
import type { Engine } from "./engine.ts";

/**
 * Verbs of an engine that retries by itself are only counted. An aborted signal of a verb also ends its retries. An
 * engine that computes in this process is no service: nothing is counted.
 */
export function retryingEngine(engine: Engine, options: RetryOptions = standardRetries): Engine {
  const service = engine.load === undefined ? null : new Service("engine");
  if (engine.retries === true) {
    if (service === null) return engine;
    return Object.assign(
      engineAround(engine, (_, verb) => service.counting(verb)),
      { retries: true },
    );
  }
  const wrapped = engineAround(engine, async (_, verb, signal) => {
    if (service === null) return retrying(verb, options, signal);
    return answerOf(await call(service, verb, { retries: options, signal }));
  });
  return Object.assign(wrapped, { retries: true });
}
