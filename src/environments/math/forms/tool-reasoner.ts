/**
 * A tool that programs and a reasoner (AT-GRPO, arXiv 2510.11062): both answer at the same time, see each other's work from
 * the second round on, and are done when they agree.
 */
import { z } from "zod";
import { forAnswer, forProgram } from "../rewards.ts";
import { defineForm } from "./definition.ts";
import { othersMayBeWrong, reasoner, tool } from "./seats.ts";

export const toolReasoner = defineForm({
  name: "tool-reasoner",
  summary: "a tool that programs and a reasoner; the same answer from both ends the episode",
  options: {
    sharedReward: z
      .boolean()
      .default(true)
      .describe("The tool's team reward is for the reasoner's answer, as published; otherwise for its own."),
  },
  build: ({ sharedReward }) => {
    const both = ["tool", "reasoner"];
    return {
      seats: {
        tool: { ...tool, earns: sharedReward ? forProgram("reasoner") : forProgram() },
        reasoner: {
          ...reasoner,
          earns: forAnswer(),
          prompt: `${reasoner.prompt} ${othersMayBeWrong}`,
          later:
            "The two answers differ. Find out which is right, or a better one, and give the final answer in \\boxed{}.",
        },
      },
      rounds: [{ tool: { before: both }, reasoner: { before: both } }],
      remembers: 3,
      answer: "reasoner",
      ends: { among: both },
    };
  },
});
