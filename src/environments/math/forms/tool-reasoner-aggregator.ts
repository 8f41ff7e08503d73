/** Reasoners and tools work independently; an aggregator gives the answer (AT-GRPO's larger teams). */
import { forAnswer } from "../rewards.ts";
import { defineForm, howMany, numbered, seatsNamed } from "./definition.ts";
import { boxed, othersMayBeWrong, reasoner, tool } from "./seats.ts";

export const toolReasonerAggregator = defineForm({
  name: "tool-reasoner-aggregator",
  summary: "reasoners and tools work independently, an aggregator answers",
  options: {
    reasoners: howMany(1).describe("Reasoners."),
    tools: howMany(1).describe("Tools."),
  },
  build: (options) => {
    const reasoners = numbered("reasoner", options.reasoners);
    const tools = numbered("tool", options.tools);
    const all = [...reasoners, ...tools];
    const before = ["aggregator"];
    return {
      seats: {
        ...seatsNamed(reasoners, {
          ...reasoner,
          prompt: `${reasoner.prompt} ${othersMayBeWrong}`,
          later: "Solve the problem again, whether or not that answer is right.",
        }),
        ...seatsNamed(tools, tool),
        aggregator: {
          writes: "solution",
          earns: forAnswer(),
          purpose: "Compares the solutions and outputs of the others and gives the final answer.",
          prompt: `You see solutions of a mathematics problem and the outputs of programs for it. Decide which of them are right, and solve the problem yourself where they differ. ${boxed} ${othersMayBeWrong}`,
          maxTokens: 2048,
        },
      },
      rounds: [
        {
          ...Object.fromEntries(all.map((seat) => [seat, { before: [seat, ...before] }])),
          aggregator: { now: all, before },
        },
      ],
      remembers: 1,
      answer: "aggregator",
      ends: { among: [...all, "aggregator"] },
    };
  },
});
