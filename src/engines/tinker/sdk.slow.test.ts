/**
 * The official SDK, unmodified, trains against `troupe serve` with each engine. It needs Python with `pip install tinker`:
 * TROUPE_TINKER_PYTHON, or python3. Skipped without; the engine on PyTorch also without TROUPE_TORCH_PYTHON.
 */
import { execFile, spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { z } from "zod";
import { makeModel, temporaryFolder } from "../../models/test-model.ts";
import { startServing } from "../testing/serving.ts";
import { python as torchPython } from "../torch/testing/interpreter.ts";

const python = process.env["TROUPE_TINKER_PYTHON"] ?? "python3";
const hasSdk = spawnSync(python, ["-c", "import tinker"], { cwd: temporaryFolder() }).status === 0;
const script = fileURLToPath(new URL("testing/sdk.py", import.meta.url));

const foundBySdk = z.looseObject({
  name: z.string(),
  losses: z.array(z.number()),
  norm: z.number(),
  tokens: z.array(z.array(z.int())),
  sampled: z.array(z.number()),
  scored: z.array(z.number()),
  forward: z.array(z.number()),
  restored: z.array(z.boolean()),
  failed: z.array(z.string()),
  again: z.array(z.int()),
  rejected: z.string(),
  missing: z.array(z.string()),
});

it.skipIf(!hasSdk).each(["local", ...(torchPython === undefined ? [] : ["torch"])])(
  "the official SDK trains, samples, scores, saves and loads: %s",
  { timeout: 240_000 },
  async (engine) => {
    const model = await makeModel(temporaryFolder(), "tiny");
    const key = "tml-test";
    const serving = await startServing([model], {
      arguments: ["--engine", engine],
      environment: { TROUPE_SERVE_KEYS: key },
    });
    try {
      const { stdout } = await promisify(execFile)(python, [script, serving.url, "tiny"], {
        cwd: temporaryFolder(),
        env: { ...process.env, TINKER_API_KEY: key },
      });
      const found = foundBySdk.parse(JSON.parse(stdout));
      expect(found.name).toBe("tiny");
      expect(found.losses.at(-1)).toBeLessThan((found.losses[0] ?? 0) / 2);
      expect(found.norm).toBeGreaterThan(0);
      expect(found.tokens.map(({ length }) => length)).toEqual([6, 6]);
      // Sampling and scoring sum in different orders.
      found.scored.forEach((score, index) => expect(score).toBeCloseTo(found.sampled[index] ?? 0, 4));
      const [trained = 0, restored, fresh] = found.forward;
      expect(restored).toBe(trained);
      expect(Math.abs(trained - (fresh ?? trained))).toBeGreaterThan(0.01);
      expect(found.restored).toEqual([true, true, false]);
      expect(found).toMatchObject({ after: [true, false] });
      expect(found.failed).toEqual(["RequestFailedError", "RequestFailedError", "RequestFailedError"]);
      expect(found.again).toHaveLength(6);
      expect(found).toMatchObject({
        top: [true, true, true],
        runs: [
          [true, "tiny", 4],
          [false, "tiny", 4],
          [false, "tiny", 4],
        ],
        total: 3,
        run: true,
        of_path: true,
        checkpoints: [
          ["weights/state", "training", true],
          ["sampler_weights/final", "sampler", true],
        ],
        user: true,
        session: true,
        weights: 4,
        public: [true, false],
        expires: [true, false],
        left: ["sampler_weights/final"],
      });
      expect(found.missing).toEqual([
        expect.stringContaining('404 There is no training run "nothing"'),
        expect.stringContaining("422 There are no saved weights tinker://"),
        expect.stringContaining("422 `troupe serve` has no projects"),
        expect.stringContaining("422 `troupe serve` has no traces"),
      ]);
      expect(found.rejected).toContain("The loss dro needs the setting beta");
    } finally {
      await serving.stop();
    }
  },
);
