/** The options of Sokoban in a recipe; the defaults are the paper's rooms. */
import { z } from "zod";
import {
  aloneShare,
  drawnAtOnce,
  proposerShare,
  share,
  wrongProposalShare,
} from "../planning/demonstrations.ts";
import { planNotations, roomNotations } from "./notation.ts";

/**
 * More would leave no room to push them in a small room, and too many positions for the exact solver in a large one:
 * it visits up to (size - 2)^(2 boxes + 2), and `mostPositions` is the limit.
 */
export function mostBoxes(size: number): number {
  if (size < 6) return 1;
  if (size < 9) return 3;
  return size < 15 ? 2 : 1;
}

export const sizes = { least: 5, most: 16 };

export const sokobanOptions = z
  .strictObject({
    size: z
      .int()
      .min(sizes.least)
      .max(sizes.most)
      .default(6)
      .describe("Rows and columns of a room, its outer walls included."),
    boxes: z
      .int()
      .min(1)
      .default(1)
      .describe("Boxes, and goals: up to 1 in rooms of size 5, 3 of 6 to 8, 2 of 9 to 14, 1 of 15 and 16."),
    longestOf: drawnAtOnce.describe(
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
        startsPerRoom: drawnAtOnce.describe(
          "Positions demonstrated in one room; an engine computes a shared prompt once.",
        ),
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
  .superRefine(({ size, boxes }, context) => {
    const most = mostBoxes(size);
    // A size that is itself wrong has been refused already.
    if (size < sizes.least || size > sizes.most || boxes <= most) return;
    const message = `at most ${most} in rooms of size ${size}`;
    context.addIssue({ code: "custom", path: ["boxes"], message });
  });

export type SokobanOptions = z.output<typeof sokobanOptions>;
