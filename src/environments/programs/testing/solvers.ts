/** A program for each game that computes a plan from the state on its standard input. */
import { readFileSync } from "node:fs";
import { fenced } from "../../../text/fences.ts";

/** As a model would reply. */
export const solvers: Readonly<Record<string, string>> = Object.fromEntries(
  ["plan-path", "sokoban", "sudoku", "eight-queens", "blocksworld"].map((game) => [game, replyFor(game)]),
);

function replyFor(game: string): string {
  const file = new URL(`${game.replaceAll("-", "_")}.py`, import.meta.url);
  return `This program finds a plan.\n\n${fenced(readFileSync(file, "utf8"))}`;
}
