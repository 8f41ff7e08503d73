/** A run's folder with given records, written without training. */
import fs from "node:fs/promises";
import { appendLines } from "../../runs/json-lines.ts";
import { layoutOf } from "../../runs/layout.ts";
import { schemaVersion, type StepMetrics, type Timing } from "../../runs/records.ts";

/** A run without any records, begun at a fixed time. */
export async function startRun(directory: string): Promise<void> {
  const { recipe, metrics, timings } = layoutOf(directory);
  for (const file of [metrics, timings]) await fs.rm(file, { force: true });
  await fs.writeFile(recipe, "name: tiny\n");
  await fs.utimes(recipe, 1_700_000_000, 1_700_000_000);
}

/** Records steps, each of the given duration. The loss of step n is 1/n. */
export async function appendSteps(
  directory: string,
  first: number,
  last: number,
  seconds: number,
): Promise<void> {
  const steps = Array.from({ length: last - first + 1 }, (_, index) => first + index);
  const { metrics, timings } = layoutOf(directory);
  await appendLines(
    timings,
    steps.map((step): Timing => ({ schema_version: schemaVersion, step, what: "reinforcement", seconds })),
  );
  await appendLines(metrics, steps.map(metricsOf));
}

function metricsOf(step: number): StepMetrics {
  const policy = { loss: 1 / step, tokens: 10 * step, optimizerSteps: 1, learningRate: 0.001, clipShare: 0 };
  return {
    schema_version: schemaVersion,
    step,
    stage: "reinforcement",
    stageStep: step,
    policies: { shared: policy },
  };
}
