/** A mixture of agents (MARTI): candidates solve independently, an aggregator answers. */
import { forAnswer } from "../rewards.ts";
import { defineForm, howMany, numbered, seatsNamed } from "./definition.ts";
import { boxed, othersMayBeWrong, reasoner } from "./seats.ts";

export const mixture = defineForm({
  name: "mixture",
  summary: "candidates solve independently, an aggregator answers",
  options: { candidates: howMany(3).describe("Candidates.") },
  build: (options) => {
    const candidates = numbered("candidate", options.candidates);
    return {
      seats: {
        ...seatsNamed(candidates, {
          ...reasoner,
          prompt: `${reasoner.prompt} ${othersMayBeWrong}`,
          later: "Solve the problem again, whether or not that answer is right.",
        }),
        aggregator: {
          writes: "solution",
          earns: forAnswer(),
          purpose: "Combines the candidates' solutions into the answer.",
          prompt: `You see several solutions of a mathematics problem. Decide which are right, and write one solution from the best of them. ${boxed} ${othersMayBeWrong}`,
          maxTokens: 2048,
        },
      },
      rounds: [
        {
          ...Object.fromEntries(candidates.map((seat) => [seat, { before: ["aggregator"] }])),
          aggregator: { now: candidates },
        },
      ],
      remembers: 1,
      answer: "aggregator",
    };
  },
});
