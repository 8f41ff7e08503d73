import { expect, it } from "vitest";
import { splitNote } from "./eval.ts";

it("reports that a split has too few tasks, also with several episodes of each", () => {
  expect(splitNote("heldOut", 10 * 100, 10 * 32)).toEqual(["the split heldOut has no more tasks"]);
  expect(splitNote("heldOut", 10 * 32, 10 * 32)).toEqual([]);
});
