import { describe, expect, it } from "vitest";
import { gameDefinition } from "../game.ts";
import { conformanceChecks, type ConformanceOptions } from "../conformance.ts";
import { eightQueens } from "./definition.ts";

describe.each<ConformanceOptions>([
  { options: { plan: "steps", demonstrations: { breakOff: 0.3, mistaken: 0.5, positionsPerBoard: 3 } } },
  { options: { given: { least: 2, most: 3 } }, seats: ["planner"], turns: 1 },
  { options: { size: 6, given: { least: 1, most: 5 } } },
  { options: { size: 10, given: { least: 0, most: 6 } }, tasks: 40 },
])("eight-queens with %j", async (options) => {
  it.each(await conformanceChecks(gameDefinition(eightQueens), options))("$name", ({ run }) =>
    expect(run()).resolves.toBeUndefined(),
  );
});
