/** The client passes the conformance kit of engines against `troupe serve` in another process. */
import { afterAll, describe, expect, it } from "vitest";
import { makeModel, temporaryFolder, vocabularySize, words } from "../../models/test-model.ts";
import { engineChecks } from "../conformance.ts";
import { TinkerEngine } from "./tinker-engine.ts";
import { profiles } from "./profiles/profiles.ts";
import { startServing } from "./testing/serving.ts";

const folder = temporaryFolder();
const model = await makeModel(folder, "model");
const serving = await startServing([model]);
afterAll(() => serving.stop());

const [token, text] = [vocabularySize - words.length, words[0] as string];
const open = (): TinkerEngine => new TinkerEngine({ url: serving.url, profile: profiles.troupe });

describe("a server of Troupe", async () => {
  it.each(await engineChecks({ open, model, folder, stop: { token, text } }))("$name", ({ run }) =>
    expect(run()).resolves.toBeUndefined(),
  );
});
