/** The local engine with a stopwatch: closing it prints the seconds that each verb took. */
import { engineKinds, openEngine, z, type Engine, type EngineKind } from "troupe";

const options = z.strictObject({ threads: z.int().min(0).default(0).describe("0: one per processor.") });

const timed: EngineKind<z.output<typeof options>> = {
  options,
  capabilities: () => engineKinds.local.capabilities({}),
  open: ({ threads }) => withStopwatch(openEngine({ type: "local", threads, precision: "float32" })),
};
export default timed;

function withStopwatch(engine: Engine): Engine {
  const milliseconds = new Map<string, number>();
  return new Proxy(engine, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name, target);
      if (typeof member !== "function") return member;
      return (...given: unknown[]): unknown => {
        const began = performance.now();
        const result: unknown = member.apply(target, given);
        if (!(result instanceof Promise)) return result;
        if (name === "close") print(milliseconds);
        return result.finally(() => {
          const before = milliseconds.get(String(name)) ?? 0;
          milliseconds.set(String(name), before + performance.now() - began);
        });
      };
    },
  });
}

function print(milliseconds: ReadonlyMap<string, number>): void {
  for (const [verb, total] of milliseconds) console.error(`${verb}: ${(total / 1000).toFixed(2)} s`);
}
