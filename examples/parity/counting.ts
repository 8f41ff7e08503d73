/** An engine around another one: it counts the calls of each verb. */
import type { Engine } from "troupe";

export function counting(engine: Engine, counts: Map<string, number>): Engine {
  return new Proxy(engine, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name, target);
      if (typeof member !== "function") return member;
      counts.set(String(name), (counts.get(String(name)) ?? 0) + 1);
      return member.bind(target) as unknown;
    },
  });
}
