import { describe, expect, it } from "vitest";
import { gameDefinition } from "../game.ts";
import { conformanceChecks, type ConformanceOptions } from "../conformance.ts";
import { sudoku } from "./definition.ts";

describe.each<ConformanceOptions>([
  { options: { plan: "steps", demonstrations: { breakOff: 0.3, mistaken: 0.5, positionsPerPuzzle: 3 } } },
  { options: { clues: { least: 4, most: 4 } }, seats: ["planner"], turns: 1 },
  { options: { size: 6, plan: "steps" }, tasks: 60 },
  { options: { size: 9 }, tasks: 40 },
])("sudoku with %j", async (options) => {
  it.each(await conformanceChecks(gameDefinition(sudoku), options))("$name", ({ run }) =>
    expect(run()).resolves.toBeUndefined(),
  );
});
