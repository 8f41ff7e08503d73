/** The options of Sokoban in a recipe; the defaults are the paper's rooms. */
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
import { planNotations, roomNotations } from "./notation.ts";

/**
 * More boxes could not be pushed in a small room, and in a large one have too many positions for the exact solver: it
 * visits up to (size - 2)^(2 boxes + 2), limited to `mostPositions`.
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
      .describe("Rows and columns, outer walls included."),
    boxes: z
      .int()
      .min(1)
      .default(1)
      .describe("Boxes and goals: at most 1 at size 5, 3 at 6 to 8, 2 at 9 to 14, 1 at 15 and 16."),
    longestOf: drawnAtOnce.describe("Training episodes use the longest of this many drawn tasks."),
    notation: z.enum(roomNotations).default("list").describe("Notation of the room."),
    plan: z
      .enum(planNotations)
      .default("moves")
      .describe('Demonstrated plans: "right down", or with cells, "c4 right d4 down d5 d6".'),
    programs: programOptions,
    demonstrations: z
      .strictObject({
        startsPerRoom: drawnAtOnce.describe(
          "Positions demonstrated per room; their shared prompt is computed once.",
        ),
        proposer: proposerShare,
        breakOff: breakOffShare,
        bumped: share.default(0.25).describe("Share of the examples that report an illegal move."),
        alone: aloneShare,
        wrongProposal: wrongProposalShare(0.1),
      })
      .prefault({})
      .describe("Warm-start examples."),
  })
  .superRefine(({ size, boxes }, context) => {
    const most = mostBoxes(size);
    // An invalid size has its own error.
    if (size < sizes.least || size > sizes.most || boxes <= most) return;
    const message = `at most ${most} in rooms of size ${size}`;
    context.addIssue({ code: "custom", path: ["boxes"], message });
  });

export type SokobanOptions = z.output<typeof sokobanOptions>;
