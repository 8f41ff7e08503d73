/** The engine on PyTorch passes the conformance kit, also behind failures. */
import { describe, expect, it } from "vitest";
import { makeModel, temporaryFolder, vocabularySize, words } from "../../models/test-model.ts";
import { engineChecks } from "../conformance.ts";
import { retryingEngine } from "../retrying.ts";
import { faultyEngine } from "../testing/tiny-engine.ts";
import { openMortal, openShared, python } from "./testing/shared-worker.ts";

const atOnce = { retries: 100, firstDelay: 0, longestDelay: 0, sleep: () => Promise.resolve() };

const engines = {
  "the torch engine": () => openShared(),
  "the torch engine with late results": () => faultyEngine(openShared(), { delay: 5 }),
  "the torch engine with random failures, with retries": () =>
    retryingEngine(faultyEngine(openShared(), { delay: 2, failing: 0.2 }), atOnce),
  "the torch engine whose workers end": () => openMortal(0.05),
};

describe.skipIf(python === undefined)("conformance", () => {
  describe.each(Object.entries(engines))("%s", async (_, open) => {
    const folder = temporaryFolder();
    const model = await makeModel(folder, "model");
    /** The first word, which no other word contains. */
    const [token, text] = [vocabularySize - words.length, words[0] as string];
    const checks =
      python === undefined ? [] : await engineChecks({ open, model, folder, stop: { token, text } });
    it.each(checks)("$name", ({ run }) => expect(run()).resolves.toBeUndefined());
  });
});
