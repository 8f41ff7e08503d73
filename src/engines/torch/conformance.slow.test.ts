/** The engine on PyTorch passes the conformance kit, also where its workers end. Failures on the way to it: ../conformance.test.ts. */
import { describe, expect, it } from "vitest";
import { makeModel, temporaryFolder, vocabularySize, words } from "../../models/test-model.ts";
import { engineChecks } from "../conformance.ts";
import { openMortal, openShared, python } from "./testing/shared-worker.ts";

const engines = {
  "the torch engine": () => openShared(),
  "the torch engine whose workers end": () => openMortal(0.05),
};

describe.skipIf(python === undefined).each(Object.entries(engines))("%s", async (_, open) => {
  const folder = temporaryFolder();
  const model = await makeModel(folder, "model");
  /** The first word, which no other word contains. */
  const [token, text] = [vocabularySize - words.length, words[0] as string];
  const checks =
    python === undefined ? [] : await engineChecks({ open, model, folder, stop: { token, text } });
  it.each(checks)("$name", ({ run }) => expect(run()).resolves.toBeUndefined());
});
