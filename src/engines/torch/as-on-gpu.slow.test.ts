/** What the worker does on a GPU only, on the processor: the same samples. */
import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { makeModel, temporaryFolder, tinyPreset } from "../../models/test-model.ts";
import { python } from "./testing/shared-worker.ts";

const script = fileURLToPath(new URL("testing/as_on_gpu.py", import.meta.url));
const folder = fileURLToPath(new URL("../../../python", import.meta.url));

it.skipIf(python === undefined)("prompts together and recorded steps give the same samples", async () => {
  const model = await makeModel(temporaryFolder(), "model", { preset: { ...tinyPreset, maxLength: 512 } });
  const env = { ...process.env, PYTHONPATH: folder };
  const found = JSON.parse(execFileSync(python ?? "", [script, model], { env, encoding: "utf8" })) as Record<
    "difference" | "tokens" | "together" | "repeated" | "kept",
    number
  >;
  // The rest is of requests whose prompts find no memory.
  expect(found).toMatchObject({
    different: 0,
    same: true,
    left: 0,
    said: ["no_memory", "no_memory"],
    idle: true,
  });
  expect(found.kept).toBeGreaterThan(1);
  expect(found.difference).toBeLessThan(1e-4);
  // Of 30 prompts, and of more steps than have a token each.
  expect(found.tokens).toBeGreaterThan(1000);
  expect(found.together).toBeGreaterThan(3);
  expect(found.repeated).toBeGreaterThan(100);
});
