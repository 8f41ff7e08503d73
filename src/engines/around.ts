/** An engine in front of another: every verb goes through a function, in the order that engine.ts promises. */
import { TroupeError } from "../errors.ts";
import type { Engine, PolicyName } from "./engine.ts";
import { nameOf, policyOf, signalOf } from "./arguments.ts";
import { policiesOf } from "./data.ts";
import { VerbOrder } from "./verb-order.ts";

export type Verb = Exclude<
  keyof Engine,
  "capabilities" | "description" | "memoryBytes" | "load" | "retries" | "arithmetic" | "failFast" | "close"
>;

/** Calls the engine behind, perhaps more than once, or throws. */
export type Around = <T>(verb: Verb, call: () => Promise<T>, signal?: AbortSignal) => Promise<T>;

/** Verbs that change a policy reach the engine behind one at a time: each waits for the result of the one before. */
export function engineAround(engine: Engine, around: Around): Engine {
  const order = new VerbOrder();
  type Call<T> = () => Promise<T>;
  const read = <T>(verb: Verb, policies: readonly PolicyName[], call: Call<T>, signal?: AbortSignal) =>
    order.read(policies, () => around(verb, call, signal), signal);
  const change = <T>(verb: Verb, policies: readonly PolicyName[], call: Call<T>, signal?: AbortSignal) =>
    order.change(policies, () => around(verb, call, signal), signal);
  return {
    capabilities: engine.capabilities,
    description: engine.description,
    arithmetic: engine.arithmetic,
    get memoryBytes() {
      return engine.memoryBytes;
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
      const call = () => engine.forwardBackward(data, loss, options);
      return change("forwardBackward", policiesOf(data), call, signalOf(options));
    },
    optimStep: (policy, adam) => change("optimStep", [policy], () => engine.optimStep(policy, adam)),
    snapshot: (policy, place) => read("snapshot", [policy], () => engine.snapshot(policy, place)),
    checkpoint: (policy, place) => read("checkpoint", [policy], () => engine.checkpoint(policy, place)),
    restore: (policy, stored) => change("restore", [policy], () => engine.restore(policy, stored)),
    ...(engine.export === undefined ? {} : { export: exporting(engine, read) }),
    ...(engine.copy === undefined ? {} : { copy: copying(engine, around, read) }),
    ...(engine.failFast === undefined ? {} : { failFast: engine.failFast.bind(engine) }),
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
