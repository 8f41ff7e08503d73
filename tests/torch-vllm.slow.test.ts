/** Trainings in which vLLM samples. */
import { readFileSync } from "node:fs";
import path from "node:path";
import { expect, it } from "vitest";
import { vllmPython } from "../src/engines/torch/testing/interpreter.ts";
import { openOwn } from "../src/engines/torch/testing/own-worker.ts";
import { temporaryFolder } from "../src/models/test-model.ts";
import type { EngineRecord } from "../src/runs/input-records.ts";
import type { StepMetrics } from "../src/runs/records.ts";
import type { TrainEvent } from "../src/train/events.ts";
import { train } from "../src/train/run.ts";
import { tinyRecipe } from "../src/train/testing/tiny-recipe.ts";

function linesOf(directory: string, name: string): readonly unknown[] {
  const text = readFileSync(path.join(directory, name), "utf8").trim();
  return text.split("\n").map((line) => JSON.parse(line) as unknown);
}

it.skipIf(vllmPython === undefined)(
  "training continues after its worker is killed, and every step samples with the newest weights (needs TROUPE_VLLM_PYTHON)",
  async () => {
    const directory = path.join(temporaryFolder(), "run");
    const settings = { sampler: "vllm", cacheBytes: 2 ** 26 };
    const { engine, processes } = openOwn(settings, undefined, vllmPython);
    const onEvent = (event: TrainEvent): void => {
      if (event.type === "checkpoint" && event.step === 5) process.kill(processes[0]?.pid ?? 0, "SIGKILL");
    };
    await train({ ...tinyRecipe(), directory, engine, onEvent });
    await engine.close();
    expect(processes).toHaveLength(2);
    const [engines] = linesOf(directory, "engines.jsonl") as EngineRecord[];
    expect(engines?.arithmetic["sampler"]).toMatch(/^vLLM \d/);
    const metrics = linesOf(directory, "metrics.jsonl") as StepMetrics[];
    const mismatches = metrics.flatMap(({ rollout }) => rollout?.mismatch ?? []);
    expect(mismatches.length).toBeGreaterThan(2);
    // Nats per token. Weights of the step before are farther away.
    for (const mismatch of mismatches) expect(mismatch).toBeLessThan(1e-5);
  },
  // Two starts of vLLM, each of half a minute of a processor.
  900_000,
);
