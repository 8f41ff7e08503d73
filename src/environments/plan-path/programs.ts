/** Instructions and input of a scout that writes programs. */
import type { Game } from "../game.ts";
import type { PathTask } from "./generate.ts";
import type { PathOptions } from "./options.ts";
import type { PathState } from "./rules.ts";

export function pathPrograms({ size, programs }: PathOptions): Pick<Game<PathTask, PathState>, "programs"> {
  if (programs === undefined) return {};
  const task =
    `An agent walks on a board of ${size} rows and ${size} columns, one cell up, down, left or right at a time; a plan is a ` +
    `shortest way to the goal. "grid" has the rows from the top, "#" a wall and "." a free cell; "at" and "goal" are ` +
    `[row, column] of the agent and of the goal, counted from 0. Print the moves in one line, like this: right down down`;
  return {
    programs: { writer: "scout", reader: "planner", task: `${task}.`, input: inputOf, limits: programs },
  };
}

function inputOf({ board: { size, walls, goal }, at }: PathState) {
  const place = (cell: number): number[] => [Math.floor(cell / size), cell % size];
  const grid = Array.from({ length: size }, (_, row) => walls.slice(row * size, (row + 1) * size));
  return { grid, at: place(at), goal: place(goal) };
}
