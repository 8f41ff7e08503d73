/** An engine that knows which policies were made through it. */
import type { Engine, PolicyName, PolicyOptions } from "../engines/engine.ts";

export interface OwnPolicies {
  readonly engine: Engine;
  /** Removes those that are left. Verbs on their names that follow wait for it. */
  readonly remove: () => void;
}

export function ownPolicies(engine: Engine): OwnPolicies {
  const names = new Set<PolicyName>();
  const verbs: Partial<Engine> = {
    async createPolicy(options: PolicyOptions) {
      const info = await engine.createPolicy(options);
      names.add(options.name);
      return info;
    },
    async removePolicy(name: PolicyName) {
      await engine.removePolicy(name);
      names.delete(name);
    },
  };
  return {
    engine: new Proxy(engine, {
      get(target, key) {
        const value: unknown = Reflect.get(key in verbs ? verbs : target, key, target);
        return typeof value === "function" ? value.bind(target) : value;
      },
    }),
    remove: () => {
      for (const name of names) void engine.removePolicy(name).catch(() => undefined);
    },
  };
}
