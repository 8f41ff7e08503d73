/** The options of Blocksworld in a recipe. */
import { z } from "zod";
import {
  aloneShare,
  drawnAtOnce,
  proposerShare,
  share,
  wrongProposalShare,
} from "../planning/demonstrations.ts";
import { mostBlocks } from "./space.ts";

export const blocksOptions = z.strictObject({
  blocks: z.int().min(3).max(mostBlocks).default(5).describe("Blocks on the table."),
  longestOf: drawnAtOnce.describe(
    "A training episode gets the task with the longest plan among this many draws; demonstrations and held-out tasks stay as they are drawn.",
  ),
  demonstrations: z
    .strictObject({
      startsPerGoal: drawnAtOnce.describe(
        "Starts demonstrated for one goal; an engine computes a shared prompt once.",
      ),
      proposer: proposerShare,
      breakOff: share
        .default(0)
        .describe(
          "Probability that a demonstrated plan breaks off after a move: above 0, demonstrations show good first moves and leave it to reinforcement to finish.",
        ),
      failed: share
        .default(0.1)
        .describe("Share of the examples that tell of a move that could not be made."),
      alone: aloneShare,
      wrongProposal: wrongProposalShare(0.1),
    })
    .prefault({})
    .describe("How the examples of a warm start are made."),
});

export type BlocksworldOptions = z.output<typeof blocksOptions>;
