/** A reasoner that checks its own solution until it stays with an answer (PettingLLMs' single agent). */
import { defineForm } from "./definition.ts";
import { reasoner } from "./seats.ts";

export const selfVerify = defineForm({
  name: "self-verify",
  summary: "one solver; an answer that it repeats ends the episode",
  options: {},
  build: () => ({
    seats: {
      reasoner: {
        ...reasoner,
        later: "Verify this solution, correct what is wrong, and give the final answer in \\boxed{}.",
      },
    },
    rounds: [{ reasoner: { before: ["reasoner"] } }],
    remembers: 1,
    answer: "reasoner",
    ends: { repeatedBy: "reasoner" },
  }),
});
