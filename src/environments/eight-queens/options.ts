/** The options of Eight Queens in a recipe. */
import { z } from "zod";
import { demonstrationShape } from "../placing/demonstrations.ts";
import { drawnAtOnce } from "../planning/demonstrations.ts";
import { largestSize, planNotations } from "./notation.ts";

export const queensOptions = z
  .strictObject({
    size: z.int().min(6).max(largestSize).default(8).describe("Rows, columns and queens."),
    given: z
      .strictObject({
        least: z.int().min(0).default(1).describe("Fewest."),
        most: z.int().min(1).default(4).describe("Most."),
      })
      .prefault({})
      .describe("Queens that stand on a board already; each number between is equally likely."),
    plan: z
      .enum(planNotations)
      .default("queens")
      .describe('How plans are demonstrated: "c4 a5", or each row first, "r4 c4 r5 a5".'),
    demonstrations: z
      .strictObject({
        positionsPerBoard: drawnAtOnce.describe(
          "Positions demonstrated of one board; an engine computes their shared beginning once.",
        ),
        ...demonstrationShape,
      })
      .prefault({})
      .describe("How the examples of a warm start are made."),
  })
  .superRefine(({ size, given: { least, most } }, context) => {
    const refuse = (key: "least" | "most", message: string): void =>
      context.addIssue({ code: "custom", path: ["given", key], message });
    if (most >= size) refuse("most", `less than size, which is ${size}`);
    else if (least > most && most > 0) refuse("least", `at most given.most, which is ${most}`);
  });

export type QueensOptions = z.output<typeof queensOptions>;
