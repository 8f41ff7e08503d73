/** The seats of the environment. */
import type { SeatDescription } from "../environment.ts";

export type SeatName = "reasoner";

export const seatDescriptions: Readonly<Record<SeatName, SeatDescription>> = {
  reasoner: {
    purpose: "Solves the problem step by step and gives the final answer.",
    prompt: "You solve mathematics problems. Reason step by step, and put your final answer in \\boxed{}.",
    maxTokens: 2048,
  },
};
