/** A debate (MARTI's multi-agent debate): in every round each sees the others' last solutions; the majority's answer counts. */
import { z } from "zod";
import { defineForm, howMany, numbered, seatsNamed } from "./definition.ts";
import { othersMayBeWrong, reasoner } from "./seats.ts";

export const debate = defineForm({
  name: "debate",
  summary: "debaters see each other's last solutions in every round; the majority's answer counts",
  options: {
    debaters: howMany(3, 2).describe("Debaters."),
    others: howMany(5).describe("Most others that a debater sees: those who follow it in a circle."),
    seesItself: z.boolean().default(true).describe("A debater also sees its own last solution."),
  },
  build: ({ debaters: count, others, seesItself }) => {
    const debaters = numbered("debater", count);
    const seenBy = (index: number) => {
      const following = [...debaters.slice(index + 1), ...debaters.slice(0, index)].slice(0, others);
      return seesItself ? [debaters[index] as string, ...following] : following;
    };
    return {
      seats: seatsNamed(debaters, {
        ...reasoner,
        prompt: `${reasoner.prompt} ${othersMayBeWrong}`,
        later: "Compare the solutions, and give the answer that you now think is right in \\boxed{}.",
      }),
      rounds: [Object.fromEntries(debaters.map((seat, index) => [seat, { before: seenBy(index) }]))],
      remembers: 1,
      answer: debaters,
    };
  },
});
