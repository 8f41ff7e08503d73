import { nodeOf } from "../../rollout/navigate.ts";
import { sum } from "../../statistics.ts";
import type { Return } from "../algorithm.ts";
import { actionsTo } from "../trajectories.ts";
import { endOf } from "./outcome.ts";

/**
 * R = Σ r over the trained roles' actions on the trajectory (Sutton and Barto, 2nd ed., eq. 3.8 with γ = 1, of the whole
 * team), instead of the outcome's score: the same for all of them, and missing if one reward is. With it, algorithms that
 * compare trajectories can learn from a judge.
 */
export const teamReturn: Return = (placed, rewards) => {
  const { episode } = placed;
  const line = actionsTo(episode, nodeOf(episode, endOf(placed).node));
  return sum(line.filter(({ action }) => !action.frozen).map(rewards.of));
};
