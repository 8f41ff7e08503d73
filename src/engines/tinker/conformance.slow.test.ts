/** The client passes the conformance kit of engines against `troupe serve` in another process, as any kind of server. */
import { afterAll, describe, expect, it } from "vitest";
import { makeModel, temporaryFolder, vocabularySize, words } from "../../models/test-model.ts";
import { engineChecks } from "../conformance.ts";
import { startServing } from "../testing/serving.ts";
import { profiles, type Profile } from "./profiles.ts";
import { TinkerEngine } from "./tinker-engine.ts";

const folder = temporaryFolder();
const model = await makeModel(folder, "model");
const serving = await startServing([model]);
afterAll(() => serving.stop());

const [token, text] = [vocabularySize - words.length, words[0] as string];

/** Without Troupe's fields: plain data, surrogates, sums computed by the client, models made anew to load weights. */
const plain: Profile = {
  ...profiles.hosted,
  capabilities: { ...profiles.hosted.capabilities, wholeModel: true, gradientNorm: true },
  wholeModel: "no lora_config",
};
const json: Profile = {
  ...plain,
  encoding: "json",
  native: ["importance_sampling"],
  load: "first request",
};
const adapter = { rank: 2, alpha: 32, targetModules: ["q_proj", "k_proj", "v_proj", "o_proj"], seed: 3 };

describe.each([
  ["Troupe", profiles.troupe],
  ["any kind", plain],
  ["any kind, with JSON, other losses by surrogates, and weights that load only into new models", json],
])("a server of %s", async (_, profile) => {
  const open = (): TinkerEngine => new TinkerEngine({ url: serving.url, profile });
  const own = profile.adapters === "shape" ? {} : { adapter };
  it.each(await engineChecks({ open, model, folder, stop: { token, text }, ...own }))("$name", ({ run }) =>
    expect(run()).resolves.toBeUndefined(),
  );
});
