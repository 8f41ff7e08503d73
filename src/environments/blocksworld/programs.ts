/** Instructions and input of a proposer that writes programs. */
import type { Game } from "../game.ts";
import type { BlocksTask } from "./generate.ts";
import type { BlocksworldOptions } from "./options.ts";
import type { BlocksState } from "./rules.ts";
import { blockName, listTowers, type Towers } from "./tower.ts";

export function blocksPrograms({
  blocks,
  programs,
}: BlocksworldOptions): Pick<Game<BlocksTask, BlocksState>, "programs"> {
  if (programs === undefined) return {};
  const task =
    `${blocks} blocks stand in towers on a table. A move takes a block with nothing on it to the table or onto another ` +
    `block with nothing on it; a plan is a shortest list of moves to the goal. "now" and "goal" have the towers, each ` +
    `from the table up; their order does not matter. Print all moves in one line, like this: move c table move b a.`;
  return {
    programs: {
      writer: "proposer",
      reader: "planner",
      task,
      input: ({ on, goal }) => ({ now: towersOf(on), goal: towersOf(goal) }),
      limits: programs,
    },
  };
}

function towersOf(on: Towers): string[][] {
  return listTowers(on).map((tower) => tower.map(blockName));
}
