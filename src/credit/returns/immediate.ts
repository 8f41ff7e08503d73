import type { Return } from "../algorithm.ts";

/** R = r(s, a): the action's own reward, nothing of what comes later (AT-GRPO has no discount over turns). */
export const immediateReturn: Return = (placed, rewards) => rewards.of(placed);
