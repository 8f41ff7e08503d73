import type { Return, Score } from "../algorithm.ts";

/** R = r(s, a): the action's own reward, nothing of what comes later (AT-GRPO has no discount over turns). */
export function immediateReturn(score: Score): Return {
  return ({ action }) => score(action.reward);
}
