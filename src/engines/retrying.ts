/**
 * An engine behind an unreliable service: a verb that fails with a ServiceError is retried with bounded exponential
 * back-off. A ServiceError means that the verb had no effect, and verbs that change a policy are tried one at a time,
 * so no gradient is lost or counted twice and every sample has the requested version. After the last retry the error is
 * thrown, and the verbs after it fail too (verb-order.ts).
 */
import { answerOf, call } from "../calls/call.ts";
import { Service } from "../calls/services.ts";
import { retrying, standardRetries, type RetryOptions } from "../calls/retry.ts";
import { engineAround, type Verb } from "./around.ts";
import type { Engine } from "./engine.ts";

/**
 * Verbs of an engine that retries by itself are only counted. An aborted signal of a verb also ends its retries. An
 * engine that computes in this process is no service: nothing is counted.
 */
export function retryingEngine(engine: Engine, retries: RetryOptions = standardRetries): Engine {
  const service = engine.load === undefined ? null : new Service("engine");
  if (engine.retries === true) return service === null ? engine : counted(engine, service);
  const wrapped = engineAround(engine, async (_, verb, signal) => {
    if (service === null) return retrying(verb, retries, signal);
    return answerOf(await call(service, verb, { retries, signal }));
  });
  return Object.assign(wrapped, { retries: true });
}

const verbs: ReadonlySet<unknown> = new Set<Verb>([
  "createPolicy",
  "removePolicy",
  "sample",
  "forward",
  "forwardBackward",
  "optimStep",
  "snapshot",
  "checkpoint",
  "restore",
  "export",
  "copy",
]);

/** Not by `engineAround`, in which a verb waits for the one before: such an engine takes a gradient and its step at once. */
function counted(engine: Engine, service: Service): Engine {
  return new Proxy(engine, {
    get: (target, name) => {
      const member: unknown = Reflect.get(target, name, target);
      if (typeof member !== "function") return member;
      const verb = member.bind(target) as (...given: unknown[]) => Promise<unknown>;
      return verbs.has(name) ? (...given: unknown[]) => service.counting(() => verb(...given)) : verb;
    },
  });
}
