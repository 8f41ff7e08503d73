/**
 * MathChat (MAPPA, arXiv 2601.23228): a solver drafts, an executor checks the draft with programs and sees what they print, a
 * verifier answers.
 */
import { forAnswer, forProgram } from "../rewards.ts";
import { defineForm, howMany } from "./definition.ts";
import { boxed, othersMayBeWrong } from "./seats.ts";

const team =
  "Three of you work on a mathematics problem one after the other: a solver, an executor of code, and a verifier, whose answer alone " +
  "counts.";

export const mathchat = defineForm({
  name: "mathchat",
  summary: "a solver, an executor of Python, and a verifier whose answer counts",
  options: {
    actions: howMany(2).describe(
      "Actions of the executor: after each but the last it sees what its programs printed.",
    ),
  },
  build: ({ actions }) => ({
    seats: {
      solver: {
        writes: "solution",
        earns: forAnswer(),
        purpose: "Drafts a solution.",
        prompt: `${team} You are the solver: draft a solution step by step, brief enough for the others to check. ${boxed}`,
        maxTokens: 4096,
      },
      executor: {
        writes: "blocks",
        actions,
        earns: forProgram(),
        purpose: "Checks the solver's draft with Python programs.",
        prompt:
          `${team} You are the executor: compute the answer, or check the solver's steps, in Python. Blocks that start with \`\`\`python ` +
          "and end with ``` run, each on its own, so each needs its own imports and must print its results. You then see what they " +
          `printed and may act again. ${othersMayBeWrong}`,
        maxTokens: 4096,
      },
      verifier: {
        writes: "solution",
        earns: forAnswer(),
        purpose: "Gives the team's answer after reading the executor's work.",
        prompt: `${team} You are the verifier: judge the executor's work and what its programs printed, correct it where it is wrong, and give the answer. ${boxed} ${othersMayBeWrong}`,
        maxTokens: 4096,
      },
    },
    rounds: [{ executor: { now: ["solver"] }, verifier: { now: ["executor"] } }],
    remembers: 1,
    answer: "verifier",
  }),
});
