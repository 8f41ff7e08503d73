/** Policies with servers of their own. */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { makeModel, temporaryFolder } from "../../models/test-model.ts";
import { atEndOfFile } from "../../test-end.ts";
import { adam, request, someDatum, testEngine } from "../local/test-engine.ts";
import { profiles, type Profile } from "./profiles.ts";
import { readLocation } from "./saving.ts";
import { localServer } from "./testing/own-server.ts";
import { TinkerEngine } from "./tinker-engine.ts";

const folder = temporaryFolder();
const model = await makeModel(folder, "tiny");
const start = (name: string): Promise<string> => localServer(model, join(folder, name));

/** Closed at the end of the file. */
function clientOf(options: ConstructorParameters<typeof TinkerEngine>[0]): TinkerEngine {
  const engine = new TinkerEngine(options);
  atEndOfFile(() => engine.close());
  return engine;
}

const adapter = { rank: 2, alpha: 32, targetModules: ["q_proj", "k_proj", "v_proj", "o_proj"], seed: 3 };
/** It does not say what it saved, and loads weights into new models only. */
const silent: Profile = {
  ...profiles.troupe,
  describesWeights: false,
  createsFromWeights: false,
  loadsSamplerWeights: false,
};

it.each([
  ["which knows what it saved", profiles.troupe],
  ["which does not say", silent],
])(
  "a policy's own server, %s, makes, trains and saves it and what is made from its weights",
  async (name, profile) => {
    const [shared, own] = [`shared ${name}`, `own ${name}`];
    const remote = clientOf({ url: await start(shared), profile, servers: { b: await start(own) } });
    const local = testEngine({ threads: 1 });
    const found = [];
    for (const engine of [local, remote]) {
      for (const policy of ["a", "b"]) await engine.createPolicy({ name: policy, model, adapter });
      const data = [someDatum("a"), someDatum("b", 1), someDatum("a", 2)];
      const { logprobs } = await engine.forwardBackward(data, { type: "importance_sampling" });
      for (const policy of ["a", "b"]) await engine.optimStep(policy, adam);
      const saved = await engine.checkpoint("b", { folder, name: "b" });
      await engine.createPolicy({ name: "reference-b", model, from: { saved, folder }, adapter });
      const { logprobs: reference } = await engine.forward([someDatum("reference-b")]);
      await engine.optimStep("b", { ...adam, learningRate: 1 });
      await engine.restore("b", { saved, folder });
      const sequences = await engine.sample(request({ policy: "b", seed: 1, count: 2 }));
      // The protocol tells no entropies.
      const sampled = sequences.map((sequence) => ({ ...sequence, entropies: undefined }));
      found.push({ results: [logprobs, reference, sampled], saved });
    }
    const [here, there] = found;
    expect(there?.results).toEqual(here?.results);
    expect(there && readLocation(there.saved).server).toBe("b");
    expect(readdirSync(join(folder, shared))).toEqual([expect.stringMatching(/^lock-/)]);
    expect(readdirSync(join(folder, own)).length).toBeGreaterThan(1);
  },
);

it("a model in a folder, as of a preset, is known by its name in `models` and in messages", async () => {
  const url = await start("presets");
  const other = await makeModel(folder, "temporary/nano");
  const [mapped, unmapped] = [{ nano: "tiny" }, {}].map((models) =>
    clientOf({ url, profile: profiles.troupe, models }),
  ) as [TinkerEngine, TinkerEngine];
  expect(await mapped.createPolicy({ name: "p", model: other })).toMatchObject({ name: "p" });
  await expect(unmapped.createPolicy({ name: "p", model: other })).rejects.toMatchObject({
    code: "bad_model",
    message: 'The server has no model "nano". It has tiny; name one of them in engine.models.',
  });
});

it("a server's lists name the run, the policy and the step of what it keeps", async () => {
  const url = await start("named");
  const remote = clientOf({ url, profile: profiles.troupe, run: "first" });
  await remote.createPolicy({ name: "the writer", model, adapter });
  await remote.forwardBackward([someDatum("the writer")], { type: "importance_sampling" });
  await remote.optimStep("the writer", adam);
  const saved = await remote.checkpoint("the writer", { folder, name: "the writer" });
  const copy = await remote.copy("the writer");
  const get = async (path: string): Promise<unknown> => (await fetch(`${url}/api/v1/${path}`)).json();
  const { sessions } = (await get("sessions")) as { sessions: string[] };
  expect(await get(`sessions/${sessions[0]}`)).toMatchObject({ user_metadata: { run: "first" } });
  const run = readLocation(saved).path.split("/")[2] ?? "";
  expect(await get(`training_runs/${run}`)).toMatchObject({ user_metadata: { policy: "the writer" } });
  const { checkpoints } = (await get(`training_runs/${run}/checkpoints`)) as { checkpoints: object[] };
  expect(checkpoints).toMatchObject([
    {
      checkpoint_id: expect.stringMatching(/^weights\/the-writer-1-\w+$/),
      user_metadata: { run: "first", policy: "the writer", step: 1 },
      expires_at: null,
    },
    {
      checkpoint_id: expect.stringMatching(/^sampler_weights\/the-writer-1-copy-\w+$/),
      expires_at: expect.stringMatching(/^2/),
    },
  ]);
  await copy.release();
  expect(await get(`training_runs/${run}/checkpoints`)).toMatchObject({ checkpoints: [{}] });
});
