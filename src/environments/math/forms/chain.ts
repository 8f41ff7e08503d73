/** A chain (MARTI): a generator solves, a verifier comments, a refiner solves with both in view. */
import { forAnswer, forJudgement } from "../rewards.ts";
import { defineForm } from "./definition.ts";
import { boxed, othersMayBeWrong, reasoner } from "./seats.ts";

export const chain = defineForm({
  name: "chain",
  summary: "a generator, a verifier that comments, and a refiner whose answer counts",
  options: {},
  build: () => ({
    seats: {
      generator: { ...reasoner, later: "Improve on this solution." },
      verifier: {
        writes: "comment",
        earns: forJudgement("generator"),
        purpose: "Judges the generator's solution and says what is wrong.",
        prompt: `You check a solution of a mathematics problem. Go through its steps and name the first mistake, without solving the problem yourself. End with \\boxed{1} if its final answer is right and \\boxed{0} if it is wrong. ${othersMayBeWrong}`,
        maxTokens: 1024,
      },
      refiner: {
        writes: "solution",
        earns: forAnswer(),
        purpose: "Writes the final solution, with the comments in view.",
        prompt: `You see a solution of a mathematics problem and comments on it. Write a correct solution; use what is right in them. ${boxed} ${othersMayBeWrong}`,
        maxTokens: 2048,
      },
    },
    rounds: [
      {
        generator: { before: ["refiner"] },
        verifier: { now: ["generator"] },
        refiner: { now: ["generator", "verifier"] },
      },
    ],
    remembers: 1,
    answer: "refiner",
  }),
});
