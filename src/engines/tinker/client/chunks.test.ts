import * as fc from "fast-check";
import { expect, it } from "vitest";
import type { WireDatum } from "../protocol/forward-backward.ts";
import { chunksOf } from "./model.ts";

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

it("in JSON, a number takes as many bytes as it has digits", () => {
  const numbers = fc.float({ noNaN: true, noDefaultInfinity: true });
  const datum = fc.array(numbers, { minLength: 1, maxLength: 20 }).map((values) => ({
    tokens: Int32Array.from(values, (_, index) => 1000 * index),
    inputs: { advantages: { values: Float32Array.from(values), shape: [values.length] } },
  }));
  fc.assert(
    fc.property(fc.array(datum, { maxLength: 20 }), (data) => {
      const chunks = chunksOf(data, { chunkData: 1000, chunkBytes: 600 }, "json");
      expect(chunks.flat()).toEqual(data);
      for (const chunk of chunks) {
        const sent = chunk.map(({ tokens, inputs }) => [[...tokens], [...inputs.advantages!.values]]);
        const brackets = 8 * chunk.length;
        expect(JSON.stringify(sent).length <= 600 + brackets || chunk.length === 1).toBe(true);
      }
    }),
  );
});
