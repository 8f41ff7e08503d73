/** Checks a task that does not come from `drawTask`. */
import { z } from "zod";
import { distancesTo, isFree, unreachable } from "../grid/board.ts";
import { largestSize } from "../grid/cells.ts";

const cell = z.int().min(0);

export const pathTaskSchema = z
  .strictObject({
    board: z
      .strictObject({ size: z.int().min(2).max(largestSize), walls: z.string().regex(/^[#.]*$/), goal: cell })
      .refine(({ size, walls }) => walls.length === size * size, "walls: one character for each cell")
      .refine((board) => board.goal < board.walls.length && isFree(board, board.goal), "goal: a free cell"),
    start: cell,
  })
  .refine(
    ({ board, start }) => start !== board.goal && (distancesTo(board)[start] ?? unreachable) !== unreachable,
    "start: a cell that is not the goal, with a path to it",
  );
