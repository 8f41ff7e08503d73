import { expect, it } from "vitest";
import { engineKinds, openEngine } from "./open.ts";

it("opens the engine of the type, with its defaults", async () => {
  const engine = openEngine({ type: "local", threads: 1 });
  expect(engine.capabilities).toBe(engineKinds.local.capabilities({}));
  expect(engine.arithmetic["threads"]).toBe("1");
  await engine.close();
});

it("rejects unknown types, and settings of other types", () => {
  expect(() => openEngine({ type: "abacus" } as never)).toThrow(
    /engine settings.type: expected local or torch or tinker/,
  );
  expect(() => openEngine({ threads: 1, beads: 10 } as never)).toThrow(/engine settings: .*beads/);
  expect(() => openEngine({ threads: 300 })).toThrow(/^engine settings\.threads: expected at most 256\.$/);
});
