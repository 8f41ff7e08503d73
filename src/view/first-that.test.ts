import * as fc from "fast-check";
import { expect, it } from "vitest";
import { firstThat } from "./first-that.ts";

it("finds what looking at one after the other finds", () => {
  fc.assert(
    fc.property(fc.nat(50), fc.nat(60), (end, first) => {
      expect(firstThat(end, (number) => number >= first)).toBe(Math.min(first, end));
    }),
  );
});
