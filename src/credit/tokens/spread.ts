import type { TokenCredit } from "../algorithm.ts";

/** A_t = A: every token of an action gets the action's advantage. */
export const spreadEvenly: TokenCredit = {
  chargesKl: false,
  spread: (judged) =>
    judged.map(({ action, advantage }) => ({
      advantages: new Float64Array(action.tokens.length).fill(advantage),
    })),
};
