/**
 * An engine behind an unreliable service: a verb that fails with a ServiceError is retried with bounded exponential
 * back-off. A ServiceError means that the verb had no effect, and verbs that change a policy are tried one at a time,
 * so no gradient is lost or counted twice and every sample has the requested version. After the last retry the error is
 * thrown, and the verbs after it fail too (verb-order.ts).
 */
import { answerOf, call } from "../calls/call.ts";
import { retrying, standardRetries, type RetryOptions } from "../calls/retry.ts";
import { Service } from "../calls/services.ts";
import { TroupeError } from "../errors.ts";
import { nameOf, policyOf, signalOf, policiesOf } from "./checks.ts";
import type { Engine, PolicyName } from "./engine.ts";
import { VerbOrder } from "./verb-order.ts";

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

export type Verb = Exclude<
  keyof Engine,
  | "capabilities"
  | "description"
  | "memoryBytes"
  | "promptTokens"
  | "processMemory"
  | "predictMemory"
  | "moved"
  | "load"
  | "retries"
  | "arithmetic"
  | "failFast"
  | "ready"
  | "close"
>;

/** Calls the engine behind, perhaps more than once, or throws. */
export type Around = <T>(verb: Verb, call: () => Promise<T>, signal?: AbortSignal) => Promise<T>;

/**
 * An engine in front of another: every verb goes through a function, in the order that engine.ts promises. Verbs that
 * change a policy reach the engine behind one at a time: each waits for the result of the one before.
 */
export function engineAround(engine: Engine, around: Around): Engine {
  const order = new VerbOrder();
  type Call<T> = () => Promise<T>;
  const read = <T>(verb: Verb, policies: readonly PolicyName[], work: Call<T>, signal?: AbortSignal) =>
    order.read(policies, () => around(verb, work, signal), signal);
  const change = <T>(verb: Verb, policies: readonly PolicyName[], work: Call<T>, signal?: AbortSignal) =>
    order.change(policies, () => around(verb, work, signal), signal);
  return {
    capabilities: engine.capabilities,
    description: engine.description,
    arithmetic: engine.arithmetic,
    get memoryBytes() {
      return engine.memoryBytes;
    },
    get promptTokens() {
      return engine.promptTokens;
    },
    get processMemory() {
      return engine.processMemory;
    },
    get load() {
      return engine.load;
    },
    createPolicy: (options) => change("createPolicy", [nameOf(options)], () => engine.createPolicy(options)),
    removePolicy: (policy) => change("removePolicy", [policy], () => engine.removePolicy(policy)),
    sample: (request, options) =>
      read("sample", [policyOf(request)], () => engine.sample(request, options), signalOf(options)),
    forward: (data, options) =>
      read("forward", policiesOf(data), () => engine.forward(data, options), signalOf(options)),
    forwardBackward: (data, loss, options) => {
      const work = () => engine.forwardBackward(data, loss, options);
      return change("forwardBackward", policiesOf(data), work, signalOf(options));
    },
    optimStep: (policy, adam) => change("optimStep", [policy], () => engine.optimStep(policy, adam)),
    snapshot: (policy, place) => read("snapshot", [policy], () => engine.snapshot(policy, place)),
    checkpoint: (policy, place) => read("checkpoint", [policy], () => engine.checkpoint(policy, place)),
    restore: (policy, stored) => change("restore", [policy], () => engine.restore(policy, stored)),
    ...(engine.export === undefined ? {} : { export: exporting(engine, read) }),
    ...(engine.copy === undefined ? {} : { copy: copying(engine, around, read) }),
    ...(engine.failFast === undefined ? {} : { failFast: engine.failFast.bind(engine) }),
    ...(engine.predictMemory === undefined ? {} : { predictMemory: engine.predictMemory.bind(engine) }),
    ...(engine.moved === undefined ? {} : { moved: engine.moved.bind(engine) }),
    ...(engine.ready === undefined ? {} : { ready: engine.ready.bind(engine) }),
    close: () => {
      order.close();
      return engine.close();
    },
  };
}

type Read = <T>(verb: Verb, policies: readonly PolicyName[], call: () => Promise<T>) => Promise<T>;

function copying(engine: Engine, around: Around, read: Read): NonNullable<Engine["copy"]> {
  return async (policy) => {
    const copy = await read("copy", [policy], async () => engine.copy?.(policy));
    if (copy === undefined) throw new TroupeError("internal", "the engine lost its verb copy");
    return {
      sample: (request, options) => around("sample", () => copy.sample(request, options), options?.signal),
      release: () => copy.release(),
    };
  };
}

function exporting(engine: Engine, read: Read): NonNullable<Engine["export"]> {
  return (policy, directory) => read("export", [policy], async () => engine.export?.(policy, directory));
}
