/** The options of Sokoban in a recipe; the defaults are the paper's rooms. */
import { z } from "zod";
import { aloneShare, proposerShare, share, wrongProposalShare } from "../planning/demonstrations.ts";
import { mostPositions } from "./positions.ts";
import { planNotations, roomNotations } from "./notation.ts";

export const sokobanOptions = z
  .strictObject({
    size: z.int().min(5).max(16).default(6).describe("Rows and columns of a room, its outer walls included."),
    boxes: z.int().min(1).max(6).default(1).describe("Boxes, and goals."),
    longestOf: z
      .int()
      .min(1)
      .default(1)
      .describe(
        "A training episode gets the task with the longest solution among this many draws; demonstrations and held-out rooms stay as they are drawn.",
      ),
    notation: z.enum(roomNotations).default("list").describe("How the room is written for a model."),
    plan: z
      .enum(planNotations)
      .default("moves")
      .describe(
        'How plans are demonstrated: "right down", or with the cells between, "c4 right d4 down d5 d6".',
      ),
    demonstrations: z
      .strictObject({
        startsPerRoom: z
          .int()
          .min(1)
          .default(1)
          .describe("Positions demonstrated in one room; an engine computes a shared prompt once."),
        proposer: proposerShare,
        breakOff: share
          .default(0)
          .describe(
            "Probability that a demonstrated solution breaks off after a move or a push: above 0, demonstrations show good beginnings and leave it to reinforcement to finish.",
          ),
        bumped: share
          .default(0.25)
          .describe("Share of the examples that tell of a cell beside the player that could not be entered."),
        alone: aloneShare,
        wrongProposal: wrongProposalShare(0.1),
      })
      .prefault({})
      .describe("How the examples of a warm start are made."),
  })
  .refine(({ size, boxes }) => (size - 2) ** (2 * (boxes + 1)) <= mostPositions, {
    path: ["boxes"],
    message: `fewer boxes or a smaller size: the exact solver takes (size - 2)^(2 boxes + 2) up to ${mostPositions}`,
  });

export type SokobanOptions = z.output<typeof sokobanOptions>;
