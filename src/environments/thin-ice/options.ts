/** The options of Thin Ice in a recipe. */
import { z } from "zod";
import { drawnAtOnce, share } from "../planning/demonstrations.ts";

/** A game is played on a lake of two halves; larger ones have names of cells that no word-level model needs. */
const largestHalf = 10;

export const iceOptions = z
  .strictObject({
    size: z.int().min(3).max(largestHalf).default(4).describe("Rows and columns of each half of the lake."),
    thin: z.int().min(1).default(7).describe("Cells of each half where the ice is thin."),
    distance: z
      .strictObject({
        least: z.int().min(1).default(4).describe("Of the shortest safe way, at least."),
        most: z.int().min(1).default(6).describe("Of the shortest safe way, at most."),
      })
      .prefault({})
      .describe("Cells to walk in each half."),
    messages: z
      .union([z.literal(false), z.int().min(1).max(12)])
      .default(3)
      .describe("Words of a message at most; false: nothing of what one seat does reaches the other."),
    sees: z
      .enum(["other", "own"])
      .default("other")
      .describe(
        "Whose thin ice a seat of the team is shown; own: its own, so that nobody needs to be told anything.",
      ),
    demonstrations: z
      .strictObject({
        viewsPerHalf: drawnAtOnce.describe(
          "Positions demonstrated that show the same thin ice; an engine computes a shared prompt once.",
        ),
        breakOff: share
          .default(0)
          .describe(
            "Probability that a demonstrated walk or message breaks off after a cell: above 0, demonstrations show good first cells and leave it to reinforcement to finish.",
          ),
        begun: share
          .default(0.6)
          .describe("Share of the examples in which something has been said or walked already."),
      })
      .prefault({})
      .describe("How the examples of a warm start are made."),
  })
  .refine(({ size, thin }) => thin <= size * size - 2, {
    path: ["thin"],
    error: "leaves no cells for a start and a goal",
  })
  .refine(({ sees, messages }) => sees === "other" || messages === false, {
    path: ["messages"],
    error: "must be false with `sees: own`: there is nothing to tell",
  })
  .refine(({ distance }) => distance.least <= distance.most, {
    path: ["distance", "most"],
    error: "is below `distance.least`",
  });

export type IceOptions = z.output<typeof iceOptions>;
