/**
 * A judge (MARTI): a generator solves, a judge scores the solution. The generator has no reward of its own; the recipe's
 * `judge: { name: member, role: judge }` makes one of the score and, with `outcomeWeight`, of the truth.
 */
import { forNothing, forScore } from "../rewards.ts";
import { defineForm } from "./definition.ts";
import { othersMayBeWrong, reasoner } from "./seats.ts";

export const judge = defineForm({
  name: "judge",
  summary: "a generator, and a judge whose score is its reward",
  options: {},
  build: () => ({
    seats: {
      generator: { ...reasoner, earns: forNothing, judged: true },
      judge: {
        writes: "comment",
        earns: forScore,
        purpose: "Scores the generator's solution.",
        prompt: `You judge a solution of a mathematics problem: check every step and the final answer. End with a score from 0, worthless, to 10, right and complete, in \\boxed{}. ${othersMayBeWrong}`,
        maxTokens: 1024,
      },
    },
    rounds: [{ generator: { before: ["generator"] }, judge: { now: ["generator"] } }],
    remembers: 1,
    answer: "generator",
  }),
});
