import * as fc from "fast-check";
import { expect, it } from "vitest";
import { childKey, extendedName, rootKey } from "./random.ts";

it("the key of a name is that of its beginning, extended", () => {
  fc.assert(
    fc.property(fc.integer(), fc.string(), fc.string(), (seed, start, more) => {
      const root = rootKey(seed);
      expect(extendedName(childKey(root, start), more)).toEqual(childKey(root, start + more));
    }),
  );
});
