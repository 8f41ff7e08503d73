import * as fc from "fast-check";
import { expect, it } from "vitest";
import type { WireDatum } from "../protocol/forward-backward.ts";
import { chunksOf } from "./chunks.ts";

/** 4 bytes per token and 8 per target. */
const datumOf = (length: number): WireDatum => ({
  tokens: new Int32Array(length),
  inputs: { target_tokens: { values: new Int32Array(length), shape: [length] } },
});

it("chunks have all data in order, within both limits unless one datum exceeds the bytes alone", () => {
  const lengths = fc.array(fc.integer({ min: 1, max: 20 }), { maxLength: 30 });
  fc.assert(
    fc.property(lengths, fc.integer({ min: 1, max: 5 }), (all, chunkData) => {
      const data = all.map(datumOf);
      const chunks = chunksOf(data, { chunkData, chunkBytes: 240 });
      expect(chunks.flat()).toEqual(data);
      for (const chunk of chunks) {
        expect(chunk.length).toBeLessThanOrEqual(chunkData);
        const bytes = chunk.reduce((sum, { tokens }) => sum + 12 * tokens.length, 0);
        expect(bytes <= 240 || chunk.length === 1).toBe(true);
      }
    }),
  );
});
