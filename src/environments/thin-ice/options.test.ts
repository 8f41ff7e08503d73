import { describe, expect, it } from "vitest";
import { optionsOf } from "./test-lakes.ts";

describe("options", () => {
  it("have defaults, and messages may be turned off", () => {
    expect(optionsOf()).toMatchObject({ size: 4, thin: 7, distance: { least: 4, most: 6 }, messages: 3 });
    expect(optionsOf({ messages: false }).messages).toBe(false);
  });

  it.each([
    [{ size: 3, thin: 8 }, "leaves no room for a start and a goal"],
    [{ distance: { least: 5, most: 4 } }, "is below `distance.least`"],
    [{ sees: "own" }, "must be false with `sees: own`"],
    [{ messages: 0 }, "messages"],
    [{ messages: true }, "messages"],
    [{ depth: 3 }, "depth"],
  ])("%j are rejected: %s", (options, problem) => {
    expect(() => optionsOf(options)).toThrow(problem);
  });
});
