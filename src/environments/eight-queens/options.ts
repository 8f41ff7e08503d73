/** The options of Eight Queens in a recipe. */
import { z } from "zod";
import { demonstrationShape } from "../placing/demonstrations.ts";
import { drawnAtOnce } from "../planning/demonstrations.ts";
import { programOptions } from "../programs/options.ts";
import { largestSize, planNotations } from "./notation.ts";

export const queensOptions = z
  .strictObject({
    size: z.int().min(6).max(largestSize).default(8).describe("Rows, columns and queens."),
    given: z
      .strictObject({
        least: z
          .int()
          .min(0)
          .default(1)
          .describe("Minimum of given queens; each number between is equally likely."),
        most: z.int().min(1).default(4).describe("Maximum of given queens."),
      })
      .prefault({})
      .describe("Given queens; each number between is equally likely."),
    plan: z
      .enum(planNotations)
      .default("queens")
      .describe('Demonstrated plans: "c4 a5", or with each row first, "r4 c4 r5 a5".'),
    programs: programOptions,
    demonstrations: z
      .strictObject({
        positionsPerBoard: drawnAtOnce.describe(
          "Positions demonstrated per board; their shared prefix is computed once.",
        ),
        ...demonstrationShape,
      })
      .prefault({})
      .describe("Warm-start examples."),
  })
  .superRefine(({ size, given: { least, most } }, context) => {
    const report = (key: "least" | "most", message: string): void =>
      context.addIssue({ code: "custom", path: ["given", key], message });
    if (most >= size) report("most", `less than size, which is ${size}`);
    else if (least > most && most > 0) report("least", `at most given.most, which is ${most}`);
  });

export type QueensOptions = z.output<typeof queensOptions>;
