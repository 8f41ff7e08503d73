/** Tasks: their options, how they are drawn, which split they belong to, and the check of one from outside. */
import { z } from "zod";
import { TroupeError } from "../../errors.ts";
import { childKey, drawInt, type Generator, generatorOf, type Key, mix32, shuffled } from "../../random.ts";
import { splitOfHash } from "../held-out.ts";
import { demonstrationShape } from "../placing/demonstrations.ts";
import { drawnAtOnce } from "../planning/demonstrations.ts";
import { programOptions } from "../programs/options.ts";
import type { GameSplit } from "../tasks.ts";
import {
  countSolutions,
  digitsOf,
  gridOf,
  type Layout,
  layoutOf,
  randomGrid,
  type Size,
  sizes,
  uniqueSolution,
} from "./grid.ts";
import { planNotations } from "./notation.ts";

// The options of Sudoku in a recipe.

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

// The split of a puzzle. Two puzzles that are equal up to renaming digits, exchanging rows of a band or columns of a
// stack, exchanging bands or stacks, and transposing, are always in the same split: no held-out puzzle is a relabelled
// training puzzle.
//
// The hash refines colours (Weisfeiler and Leman 1968) of the cells by those of their row, column, box and digit,
// summed. Every symmetry moves the colours along with the cells, so equivalent puzzles have equal hashes without a
// canonical form. Other puzzles may share a hash by chance, and then share a split.

/** A quarter of all classes of puzzles is held out. `clues` [size²], 0: open. */
export function splitOf(layout: Layout, clues: Uint8Array): GameSplit {
  return splitOfHash(classHash(layout, clues));
}

/** Steps from a cell to any other and back. */
const rounds = 4;

/** An unsigned 32-bit number that is invariant under the symmetries of Sudoku. */
export function classHash(layout: Layout, clues: Uint8Array): number {
  const { size, rowOf, columnOf, boxOf } = layout;
  let colours = Int32Array.from(clues, (digit) => (digit === 0 ? 1 : 2));
  for (let round = 0; round < rounds; round++) {
    const [rows, columns, boxes, digits] = [rowOf, columnOf, boxOf, clues].map((groups) =>
      groupColours(colours, groups, size + 1),
    );
    colours = colours.map((colour, cell) => {
      // Transposing a grid exchanges rows and columns.
      const lines = mix32(rows?.[rowOf[cell] ?? 0] ?? 0) + mix32(columns?.[columnOf[cell] ?? 0] ?? 0);
      const digit = clues[cell] === 0 ? 0 : (digits?.[clues[cell] ?? 0] ?? 0);
      return mix32(
        colour + mix32(lines + 1) + mix32((boxes?.[boxOf[cell] ?? 0] ?? 0) + 2) + mix32(digit + 3),
      );
    });
  }
  return mix32(colours.reduce((sum, colour) => (sum + mix32(colour)) | 0, 0)) >>> 0;
}

/** The sum of the colours in each group. */
function groupColours(colours: Int32Array, groups: Uint8Array, count: number): Int32Array {
  const sums = new Int32Array(count);
  for (let cell = 0; cell < colours.length; cell++) {
    const group = groups[cell] ?? 0;
    sums[group] = (sums[group] ?? 0) + mix32(colours[cell] ?? 0);
  }
  return sums;
}

// Draws puzzles with one solution: cells of a random full grid are removed as long as it stays the only solution.

/** Grids are written row by row; "." is an open cell. */
export type SudokuTask = {
  readonly size: number;
  readonly clues: string;
  /** The only solution; no seat sees it. */
  readonly solution: string;
};

export interface PuzzleOptions {
  readonly size: number;
  /** Clues of a puzzle: each number from least to most is equally likely. */
  readonly clues: { readonly least: number; readonly most: number };
}

const mostDraws = 2000;

/** @throws TroupeError `bad_recipe` if practically no puzzle has as few clues as requested. */
export function drawTask(options: PuzzleOptions, split: GameSplit, key: Key): SudokuTask {
  const { size, clues } = options;
  const layout = layoutOf(size);
  const generator = generatorOf(childKey(key, split));
  const wanted = clues.least + drawInt(generator, clues.most - clues.least + 1);
  for (let draw = 0; draw < mostDraws; draw++) {
    const solution = randomGrid(layout, generator);
    const puzzle = takeCells(layout, solution, wanted, generator);
    if (puzzle === undefined || splitOf(layout, puzzle) !== split) continue;
    return { size, clues: gridOf(puzzle), solution: gridOf(solution) };
  }
  throw new TroupeError(
    "bad_recipe",
    `sudoku: no puzzle with ${wanted} clues in ${mostDraws} draws (size ${size}); use a larger clues.least`,
  );
}

/** A puzzle with that many clues and only this solution; undefined if the draw gets stuck. */
function takeCells(
  layout: Layout,
  solution: Uint8Array,
  wanted: number,
  generator: Generator,
): Uint8Array | undefined {
  const puzzle = solution.slice();
  let left = puzzle.length;
  const cells = shuffled(generator, Array.from(puzzle.keys()));
  for (const cell of cells) {
    if (left === wanted) return puzzle;
    puzzle[cell] = 0;
    if (countSolutions(layout, puzzle, 2) === 1) left--;
    else puzzle[cell] = solution[cell] ?? 0;
  }
  return left === wanted ? puzzle : undefined;
}

// Checks a task from outside.

export const sudokuTaskSchema = z
  .strictObject({
    size: z.literal(sizes),
    clues: z.string().regex(/^[1-9.]*$/),
    solution: z.string(),
  })
  .refine(
    ({ size, clues }) =>
      clues.length === size * size && !/[1-9]/.test(clues.replaceAll(digitsUpTo(size), "")),
    `clues: "." or a digit of the size for each cell`,
  )
  .refine(
    ({ size, clues, solution }) => solution === solutionOf(size, clues) && solution !== clues,
    "solution: the only one of the clues, with at least one open cell",
  );

function digitsUpTo(size: number): RegExp {
  return new RegExp(`[1-${size}]`, "g");
}

function solutionOf(size: number, clues: string): string | undefined {
  const solution = uniqueSolution(layoutOf(size), digitsOf(clues));
  return solution && gridOf(solution);
}
