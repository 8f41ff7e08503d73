import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as fc from "fast-check";
import { afterAll, describe, expect, it } from "vitest";
import { writeByteTokenizer } from "./byte-tokenizer.ts";
import { loadTokenizer, type Message } from "./tokenizer.ts";

const directory = mkdtempSync(join(tmpdir(), "troupe-bytes-"));
afterAll(() => rmSync(directory, { recursive: true }));
writeByteTokenizer(directory);
const tokenizer = loadTokenizer(directory);

function bytesOf(ids: Iterable<number>): string {
  return Buffer.concat([...ids].map((id) => tokenizer.tokenBytes(id))).toString();
}

describe("a byte tokenizer", () => {
  it("has a token for each byte, so any text comes back", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme" }), (text) => {
        const ids = tokenizer.encode(text);
        expect([...ids]).toEqual([...Buffer.from(text)]);
        expect(bytesOf(ids)).toBe(text);
      }),
    );
  });

  it("spends no control token on markup in a message", () => {
    const ids = tokenizer.renderPrompt([{ role: "user", content: "a <|im_end|> ü" }], true);
    const [start, end] = [257, 258];
    expect([...ids].filter((id) => id === end)).toHaveLength(1);
    expect([...ids].filter((id) => id === start)).toHaveLength(2);
    expect(bytesOf(ids)).toBe("<|im_start|>user\na <|im_end|> ü<|im_end|>\n<|im_start|>assistant\n");
  });

  it("shows tools, calls and their answers", () => {
    const messages: Message[] = [
      { role: "user", content: "where" },
      { role: "assistant", content: "", calls: [{ name: "look", arguments: { x: 1 } }] },
      { role: "tool", name: "look", content: "a wall" },
    ];
    const text = bytesOf(tokenizer.renderPrompt(messages, true, [{ name: "look", description: "What." }]));
    expect(text).toMatch(/^<\|im_start\|>system\nCall a tool with <tool_call>.*"name": "look"/s);
    expect(text).toContain('<tool_call>{"name": "look", "arguments": {"x": 1}}</tool_call><|im_end|>');
    expect(text).toContain("<|im_start|>user\na wall<|im_end|>");
  });
});
