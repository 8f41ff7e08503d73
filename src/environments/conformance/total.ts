import type { ActionReward } from "../environment.ts";

/** Team and local reward as AT-GRPO adds them, α = 1; a seat that did not act has earned nothing. */
export function total(reward: ActionReward | undefined): number {
  return (reward?.team ?? 0) + (reward?.local ?? 0);
}
