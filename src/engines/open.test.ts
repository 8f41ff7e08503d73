import { expect, it } from "vitest";
import { failure } from "../models/test-model.ts";
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

it("vLLM is rejected with settings that it does not have, before anything is started", async () => {
  for (const more of [{ deterministic: true }, { quantise: "nf4" }] as const)
    expect(
      await failure("bad_arguments", () => openEngine({ type: "torch", sampler: "vllm", ...more })),
    ).toMatch(/neither `deterministic: true` nor `quantise`.*sampler: own/s);
});
