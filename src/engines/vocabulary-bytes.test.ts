import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { fixtures, fixtureTokenizer } from "../text/testing/fixtures.ts";
import { vocabularyBytes } from "./vocabulary-bytes.ts";

const directory = join(fixtures, "qwen3");
const tokenizer = fixtureTokenizer("qwen3");

describe("the bytes of a model's vocabulary", () => {
  it("are the tokenizer's, computed once for all policies, and empty for rows beyond it", () => {
    const tables = [0, 1].map(() => vocabularyBytes(directory, tokenizer.vocabularySize + 9));
    const { bytes, lengths } = tables[0] ?? { bytes: new Uint8Array(), lengths: new Int32Array() };
    expect(bytes.buffer).toBe(tables[1]?.bytes.buffer);
    expect(lengths).toHaveLength(tokenizer.vocabularySize + 9);
    let start = 0;
    for (const [id, length] of lengths.entries()) {
      expect([...bytes.subarray(start, start + length)]).toEqual([...tokenizer.tokenBytes(id)]);
      start += length;
    }
    expect(start).toBe(bytes.length);
  });

  it("are truncated if the model has fewer rows than the tokenizer", () => {
    const { bytes, lengths } = vocabularyBytes(directory, 300);
    expect(lengths).toHaveLength(300);
    expect(bytes).toHaveLength(lengths.reduce((sum, length) => sum + length));
  });

  it("need a tokenizer", () => {
    expect(() => vocabularyBytes(join(fixtures, "nowhere"), 3)).toThrowError(
      /Put the model's tokenizer.json there/,
    );
  });
});
