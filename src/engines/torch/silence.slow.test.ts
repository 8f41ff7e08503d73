/** A pass may take longer than the worker may be silent: it gives signs of life, but only while its layers advance. */
import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { makeModel, temporaryFolder, tinyPreset } from "../../models/test-model.ts";
import { torchSettings } from "./kind.ts";
import { python } from "./testing/shared-worker.ts";

const script = fileURLToPath(new URL("testing/signs.py", import.meta.url));
const folder = fileURLToPath(new URL("../../../python", import.meta.url));

describe.skipIf(python === undefined)("signs of life", () => {
  it.each([true, false])("come between layers and not within one (recompute: %s)", async (recompute) => {
    const preset = { ...tinyPreset, layers: 2, maxLength: 256 };
    const model = await makeModel(temporaryFolder(), "model", { preset });
    const settings = torchSettings.parse({ type: "torch", device: "cpu", threads: 1, recompute });
    const env = { ...process.env, PYTHONPATH: folder };
    const found = execFileSync(python ?? "", [script, model, JSON.stringify(settings)], { env });
    const layers = JSON.parse(found.toString()) as { before: number; during: number }[];
    expect(layers).toHaveLength(recompute ? 4 : 2);
    // The proof of the model, a moment before the first layer, gave a sign, and there is one in a second.
    for (const { before, during } of layers.slice(1)) {
      expect(before).toBeGreaterThan(0);
      expect(during).toBe(0);
    }
  });
});
