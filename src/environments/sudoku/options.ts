/** The options of Sudoku in a recipe. */
import { z } from "zod";
import { type Size, sizes } from "./layout.ts";
import { planNotations } from "./notation.ts";

const share = z.number().min(0).max(1);

/** The fewest clues that puzzles with one solution have and that a random draw finds; the clues of a common puzzle. */
const cluesBySize: Readonly<Record<Size, { fewest: number; least: number; most: number }>> = {
  4: { fewest: 4, least: 4, most: 8 },
  6: { fewest: 9, least: 12, most: 18 },
  9: { fewest: 24, least: 30, most: 40 },
};

export const sudokuOptions = z
  .strictObject({
    size: z
      .literal(sizes)
      .default(4)
      .describe("Rows, columns and digits: 4 (boxes of 2×2), 6 (2 rows × 3 columns) or 9 (3×3)."),
    clues: z
      .strictObject({
        least: z.int().optional().describe("Fewest; default 4, 12 or 30 by the size."),
        most: z.int().optional().describe("Most; default 8, 18 or 40 by the size."),
      })
      .prefault({})
      .describe("Clues of a puzzle; each number between is equally likely."),
    plan: z
      .enum(planNotations)
      .default("entries")
      .describe('How plans are demonstrated: "b1=2 d1=4", or each cell first, "b1 b1=2 d1 d1=4".'),
    demonstrations: z
      .strictObject({
        positionsPerPuzzle: z
          .int()
          .min(1)
          .default(1)
          .describe("Positions demonstrated of one puzzle; an engine computes their shared clues once."),
        order: z
          .enum(["random", "canonical"])
          .default("random")
          .describe("Of cells that are forced at once: any of them, or the first of the grid."),
        proposer: share
          .default(0.5)
          .describe("Share of a team's examples that are the proposer's; the others are the planner's."),
        breakOff: share
          .default(0)
          .describe(
            "Probability that a demonstrated plan breaks off after an entry: above 0, demonstrations show good first entries and leave it to reinforcement to finish.",
          ),
        begun: share.default(0.5).describe("Share of the examples in which some cells are filled already."),
        mistaken: share.default(0.1).describe("Share of the begun examples in which one entry is wrong."),
        refused: share.default(0.15).describe("Share of the examples that tell of a refused entry."),
        alone: share.default(0.25).describe("Share of a team's planner examples that show no proposal."),
        wrongProposal: share
          .default(0.2)
          .describe("Share of the planner examples with a proposal that show a wrong one."),
      })
      .prefault({})
      .describe("How the examples of a warm start are made."),
  })
  .superRefine(({ size, clues }, context) => {
    const { least, most } = clueRange(size, clues);
    const { fewest } = cluesBySize[size];
    const highest = size * size - 1;
    const message = `a puzzle of size ${size} has ${fewest} to ${highest} clues, and least is at most most`;
    if (least < fewest || most > highest || least > most)
      context.addIssue({ code: "custom", path: ["clues"], message });
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
