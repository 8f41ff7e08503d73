/** The options of Sudoku in a recipe. */
import { z } from "zod";
import { demonstrationShape } from "../placing/demonstrations.ts";
import { drawnAtOnce } from "../planning/demonstrations.ts";
import { programOptions } from "../programs/options.ts";
import { type Size, sizes } from "./layout.ts";
import { planNotations } from "./notation.ts";

/**
 * The fewest clues for which a random draw finds a puzzle with one solution; the clues of a common puzzle; the highest
 * number with puzzles in both splits. Only 13 puzzles of 4×4 have four clues, up to symmetry, too few to hold some out
 * fairly: four is not a default.
 */
const cluesBySize: Readonly<Record<Size, { fewest: number; least: number; most: number; highest: number }>> =
  {
    4: { fewest: 4, least: 5, most: 8, highest: 14 },
    6: { fewest: 9, least: 12, most: 18, highest: 35 },
    9: { fewest: 24, least: 30, most: 40, highest: 80 },
  };

export const sudokuOptions = z
  .strictObject({
    size: z
      .literal(sizes)
      .default(4)
      .describe("Rows, columns and digits; boxes are 2×2, 2 rows × 3 columns, 3×3."),
    clues: z
      .strictObject({
        least: z
          .int()
          .optional()
          .describe("Minimum of clues; each number between is equally likely. Default: 5, 12 or 30 by size."),
        most: z.int().optional().describe("Maximum of clues. Default: 8, 18 or 40 by size."),
      })
      .prefault({})
      .describe("Clues."),
    plan: z
      .enum(planNotations)
      .default("entries")
      .describe('Demonstrated plans: "b1=2 d1=4", or with each cell first, "b1 b1=2 d1 d1=4".'),
    programs: programOptions,
    demonstrations: z
      .strictObject({
        positionsPerPuzzle: drawnAtOnce.describe(
          "Positions demonstrated per puzzle; their shared prefix is computed once.",
        ),
        order: z
          .enum(["random", "canonical"])
          .default("random")
          .describe("Among cells that are forced: any, or the first of the grid."),
        ...demonstrationShape,
      })
      .prefault({})
      .describe("Warm-start examples."),
  })
  .superRefine(({ size, clues }, context) => {
    const { fewest, highest } = cluesBySize[size];
    const report = (key: "least" | "most", message: string): void =>
      context.addIssue({ code: "custom", path: ["clues", key], message });
    const { least = fewest, most = highest } = clues;
    if (least < fewest || least > highest) report("least", `from ${fewest} to ${highest} for size ${size}`);
    if (most < fewest || most > highest) report("most", `from ${fewest} to ${highest} for size ${size}`);
    else if (least > most && least <= highest) report("least", `at most clues.most, which is ${most}`);
  });

export type SudokuOptions = z.output<typeof sudokuOptions>;

/** With the defaults of the size. */
export function clueRange(
  size: Size,
  { least, most }: SudokuOptions["clues"],
): { readonly least: number; readonly most: number } {
  const usual = cluesBySize[size];
  return {
    least: least ?? Math.min(usual.least, most ?? usual.least),
    most: most ?? Math.max(usual.most, least ?? usual.most),
  };
}
