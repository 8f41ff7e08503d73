/** Instructions and input of a proposer that writes programs. */
import type { Game } from "../game.ts";
import type { SokobanTask } from "./generate.ts";
import { roomRows } from "./notation.ts";
import type { SokobanOptions } from "./options.ts";
import type { SokobanState } from "./rules.ts";

export function sokobanPrograms({
  size,
  programs,
}: SokobanOptions): Pick<Game<SokobanTask, SokobanState>, "programs"> {
  if (programs === undefined) return {};
  const task =
    `A player in a room of ${size} rows and ${size} columns moves up, down, left or right; moving into a box pushes it one ` +
    `cell further, if that cell is neither a wall nor a box. Boxes cannot be pulled. A plan is a shortest way to get every box ` +
    `onto a goal. "grid" has the rows from the top: "#" wall, "-" floor, "." goal, "$" box, "*" box on a goal, "@" player, ` +
    `"+" player on a goal. Print all moves of the player in one line, like this: right right down.`;
  return {
    programs: {
      writer: "proposer",
      reader: "planner",
      task,
      input: ({ room, at, boxes }) => ({ grid: roomRows(room, { at, boxes }) }),
      limits: programs,
    },
  };
}
