/** The options of Blocksworld in a recipe. */
import { z } from "zod";
import {
  aloneShare,
  breakOffShare,
  drawnAtOnce,
  proposerShare,
  share,
  wrongProposalShare,
} from "../planning/demonstrations.ts";
import { programOptions } from "../programs/options.ts";
import { mostBlocks } from "./space.ts";

export const blocksOptions = z.strictObject({
  blocks: z.int().min(3).max(mostBlocks).default(5).describe("Number of blocks."),
  longestOf: drawnAtOnce.describe("Training episodes use the longest of this many drawn tasks."),
  programs: programOptions,
  demonstrations: z
    .strictObject({
      startsPerGoal: drawnAtOnce.describe(
        "Starts demonstrated per goal; their shared prompt is computed once.",
      ),
      proposer: proposerShare,
      breakOff: breakOffShare,
      failed: share.default(0.1).describe("Share of the examples that report an illegal move."),
      alone: aloneShare,
      wrongProposal: wrongProposalShare(0.1),
    })
    .prefault({})
    .describe("Warm-start examples."),
});

export type BlocksworldOptions = z.output<typeof blocksOptions>;
