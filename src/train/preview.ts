/** One evaluation task played by the team as it is, for people who watch. Nothing is recorded, and nothing changes. */
import { evaluatePolicies } from "./evaluate.ts";
import { previewSetting } from "./evaluations.ts";
import { sampleEpisode } from "./episode-records.ts";
import type { TrainingState } from "./training-state.ts";

/** Whether the task is shown after this step: before the first, and in the first part of the warm start. */
export function isPreviewStep(step: number, warmSteps: number): boolean {
  return warmSteps > 0 && (step === 0 || step === Math.ceil(warmSteps / 6));
}

export async function preview({ shared, stage, emit, step }: TrainingState): Promise<void> {
  const { environment, services, engine, interrupts } = shared;
  const setting = previewSetting({ ...stage, environment, services, engine });
  const { episodes } = await interrupts.read(evaluatePolicies({ ...setting, signal: interrupts.reading }));
  const shown = episodes.map((episode) => sampleEpisode(environment, episode)).filter((one) => one !== null);
  emit({ type: "preview", step, episodes: shown });
}
