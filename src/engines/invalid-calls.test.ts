/** Whatever a verb is called with, it rejects with a TroupeError, and the engine remains usable. */
import path from "node:path";
import * as fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { TroupeError } from "../errors.ts";
import { makeModel, temporaryFolder } from "../models/test-model.ts";
import { invalidCalls, thrownBy } from "../testing.ts";
import type { Engine } from "./engine.ts";
import { adam, request, someDatum } from "./local/test-engine.ts";
import { openEngine } from "./open.ts";
import type { Verb } from "./retrying.ts";
import { profiles } from "./tinker/profiles.ts";
import { localServer } from "./tinker/testing/own-server.ts";
import { TinkerEngine } from "./tinker/tinker-engine.ts";

const folder = temporaryFolder();
const model = await makeModel(folder, "model");
const url = await localServer(model, path.join(folder, "served"), "model");
// Some of the paths are relative.
const before = process.cwd();
process.chdir(folder);
afterAll(() => process.chdir(before));

/** Valid arguments, from which invalid ones are made. */
const valid: Readonly<Record<Verb, readonly unknown[]>> = {
  createPolicy: [{ name: "q", model, adapter: { rank: 1, alpha: 32, targetModules: ["q_proj"], seed: 1 } }],
  removePolicy: ["p"],
  sample: [request({ topK: 1, topP: 1, stopTokens: [1], stopStrings: ["up"] }), {}],
  forward: [[someDatum("p")], {}],
  forwardBackward: [
    [someDatum("p")],
    { type: "ppo", clipLow: 0.2, clipHigh: 0.2, dualClip: 3, ratio: "token", kl: "k1" },
    {},
  ],
  optimStep: ["p", adam],
  snapshot: ["p", { folder, name: "saved" }],
  checkpoint: ["p", { folder, name: "saved" }],
  restore: ["p", { saved: { kind: "snapshot", location: "saved", version: 0, directory: "saved" }, folder }],
  export: ["p", path.join(folder, "exported"), {}],
  copy: ["p"],
};

describe.each([
  ["local", () => openEngine({ type: "local", threads: 1, precision: "float32" })],
  ["tinker", () => new TinkerEngine({ url, profile: profiles.troupe })],
])("the %s engine", (_, open) => {
  let engine: Engine;
  beforeAll(async () => {
    engine = open();
    await engine.createPolicy({ name: "p", model });
  });
  afterAll(() => engine.close());

  async function call(verb: Verb, given: readonly unknown[]): Promise<unknown> {
    const method = engine[verb]?.bind(engine) as
      | ((...args: readonly unknown[]) => Promise<unknown>)
      | undefined;
    const result = method?.(...given); // a verb that throws at once would be a fault: it must reject
    return thrownBy(() => result);
  }

  it("rejects with a TroupeError", { timeout: 120_000 }, async () => {
    await fc.assert(
      fc.asyncProperty(invalidCalls(valid), async ({ name: verb, given }) => {
        const error = await call(verb, given);
        // Some oddities are valid.
        if (error === undefined && verb === "createPolicy")
          await engine.removePolicy((given[0] as { name: string }).name);
        if (error === undefined && verb === "removePolicy") await engine.createPolicy({ name: "p", model });
        return error === undefined || (error instanceof TroupeError && error.code !== "internal");
      }),
      { numRuns: 400 },
    );
    // Absurd learning rates are valid, so `p` may be ruined.
    await engine.createPolicy({ name: "fresh", model });
    expect(await engine.sample(request({ policy: "fresh" }))).toHaveLength(1);
  });

  it("rejects a clip norm that float32 would make 0, which means no clipping", async () => {
    const step = engine.optimStep("p", { ...adam, clipNorm: 1e-300 });
    expect(await thrownBy(() => step)).toMatchObject({
      code: "bad_arguments",
      message: expect.stringContaining("not 0 as float32") as string,
    });
  });

  it("fails what was submitted after an invalid change", async () => {
    const invalid = engine.forwardBackward([someDatum("p")], null as never);
    const after = engine.optimStep("p", adam);
    expect(await thrownBy(() => invalid)).toMatchObject({ code: "bad_arguments" });
    expect(await thrownBy(() => after)).toMatchObject({ code: "bad_arguments" });
  });
});
