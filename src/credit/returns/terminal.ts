import type { Return } from "../algorithm.ts";
import { roleLine } from "../lines.ts";
import { endOf } from "./outcome.ts";

/** R = the episode's score for the role's last action on its line, 0 for those before it; each with its own penalties. */
export const terminalReturn: Return = (placed, rewards) => {
  const isLast = roleLine(placed).length === 1;
  return (isLast ? endOf(placed).outcome.score : 0) + rewards.extra(placed.action);
};
