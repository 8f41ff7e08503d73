/** The project's engines, and engines in front of them, pass the conformance kit. */
import { describe, expect, it } from "vitest";
import { makeModel, temporaryFolder, vocabularySize, words } from "../models/test-model.ts";
import { engineChecks } from "./conformance.ts";
import type { Engine } from "./engine.ts";
import { openEngine } from "./open.ts";
import { retryingEngine } from "./retrying.ts";
import { faultyEngine, TinyEngine } from "./testing/tiny-engine.ts";

const folder = temporaryFolder();
const model = await makeModel(folder, "model");
/** The first word, which no other word contains. */
const [token, text] = [vocabularySize - words.length, words[0] as string];
const atOnce = { retries: 100, firstDelay: 0, longestDelay: 0, sleep: () => Promise.resolve() };

const engines: Readonly<Record<string, () => Engine>> = {
  "the local engine": () => openEngine({ threads: 1, precision: "float32" }),
  "the tiny engine": () => new TinyEngine(),
  "the tiny engine without what is optional": () =>
    new TinyEngine({ without: ["entropy", "gradientNorm", "stopStrings", "topK"] }),
  "an engine with random failures, with retries, whose results arrive late and out of order": () =>
    retryingEngine(faultyEngine(new TinyEngine(), { delay: 5, failing: 0.2 }), atOnce),
};

describe.each(Object.entries(engines))("%s", async (_, open) => {
  it.each(await engineChecks({ open, model, folder, stop: { token, text } }))("$name", ({ run }) =>
    expect(run()).resolves.toBeUndefined(),
  );
});
