import type { ActionReward } from "../environment.ts";

/** Team and local reward as AT-GRPO adds them, α = 1; a seat that did not act, or is judged later, has earned nothing. */
export function total(reward: ActionReward | null | undefined): number {
  return (reward?.team ?? 0) + (reward?.local ?? 0);
}
