/** A training goes through although the worker of the engine on PyTorch is killed. */
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import path from "node:path";
import { expect, it } from "vitest";
import { python } from "../src/engines/torch/testing/interpreter.ts";
import { openOwn } from "../src/engines/torch/testing/own-worker.ts";
import { temporaryFolder } from "../src/models/test-model.ts";
import type { TrainEvent } from "../src/train/events.ts";
import { train } from "../src/train/run.ts";
import { tinyRecipe } from "../src/train/testing/tiny-recipe.ts";

/** A training whose worker is killed after some of its checkpoints, and the weights that it ends with. */
async function trained(killedAfter: readonly number[]): Promise<{ weights: string; processes: number }> {
  const { engine, processes } = openOwn({ deterministic: true });
  const directory = path.join(temporaryFolder(), "run");
  const onEvent = (event: TrainEvent): void => {
    if (event.type !== "checkpoint" || !killedAfter.includes(event.step)) return;
    process.kill(processes.at(-1)?.pid ?? 0, "SIGKILL");
  };
  await train({ ...tinyRecipe({ checkpoint: { every: 2, keep: 1 } }), directory, engine, onEvent });
  await engine.close();
  const file = path.join(directory, "checkpoints", "step-7", "shared", "model.safetensors");
  return {
    weights: createHash("sha256").update(readFileSync(file)).digest("hex"),
    processes: processes.length,
  };
}

it.skipIf(python === undefined)(
  "after checkpoints, whose folders get another name: the same weights",
  // Four workers import PyTorch one after the other.
  { timeout: 600_000 },
  async () => {
    const whole = await trained([]);
    expect(await trained([2, 5])).toEqual({ ...whole, processes: 3 });
  },
);
