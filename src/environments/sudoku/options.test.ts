import { describe, expect, it } from "vitest";
import { clueRange, sudokuOptions } from "./options.ts";

it("the defaults are grids of 4 with 5 to 8 clues", () => {
  const options = sudokuOptions.parse({});
  expect(options).toMatchObject({ size: 4, plan: "entries" });
  expect(clueRange(4, options.clues)).toEqual({ least: 5, most: 8 });
});

it("clues have defaults that fit the size, and what is given", () => {
  expect(clueRange(9, {})).toEqual({ least: 30, most: 40 });
  expect(clueRange(4, { least: 10 })).toEqual({ least: 10, most: 10 });
  expect(clueRange(6, { most: 10 })).toEqual({ least: 10, most: 10 });
});

describe("options", () => {
  it.each([
    { size: 5 },
    { size: 16 },
    { clues: { least: 3 } },
    { clues: { most: 16 } },
    { clues: { least: 8, most: 6 } },
    { size: 9, clues: { least: 20 } },
    { clue: 5 },
    { demonstrations: { breakOff: 1.5 } },
  ])("%j are refused", (options) => {
    expect(sudokuOptions.safeParse(options).success).toBe(false);
  });

  it("say what is wrong with the clues", () => {
    const { error } = sudokuOptions.safeParse({ clues: { least: 3 } });
    expect(error?.issues[0]?.message).toBe("least and most from 4 to 15 for size 4, least not above most");
  });
});
