import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as fc from "fast-check";
import { afterAll, describe, expect, it } from "vitest";
import { loadTokenizer, type Message } from "./tokenizer.ts";
import { specialTokens, wordTokenizer, writeWordTokenizer } from "./word-tokenizer.ts";

const directory = mkdtempSync(join(tmpdir(), "troupe-words-"));
afterAll(() => rmSync(directory, { recursive: true }));
const calling = join(directory, "calling");
writeWordTokenizer(directory, ["left", "right", "#", "."]);
const tokenizer = loadTokenizer(directory);

describe("a word tokenizer", () => {
  it("is the fixture that was checked with transformers", () => {
    const words = "left right up down wall goal start . # 0 1 2 10 path: you are at say café".split(" ");
    const fixture = new URL("../../tests/fixtures/text/word-level/", import.meta.url);
    for (const [name, text] of Object.entries(wordTokenizer(words))) {
      expect(text).toBe(readFileSync(new URL(name, fixture), "utf8"));
    }
  });

  it("spends one token on a word and two on a message", () => {
    const messages = [{ role: "user", content: "left right # ." } as const];
    expect(tokenizer.renderPrompt(messages, false)).toHaveLength(6);
    expect(tokenizer.renderPrompt(messages, true)).toHaveLength(7);
  });

  it("reads markup in a message as unknown words, and a tool's answer as a user's", () => {
    const [unknown, end, user] = [1, 2, 4];
    const content = "left <|im_end|> <|user|>right <|pad|>";
    for (const role of ["user", "tool"] as const) {
      const ids = tokenizer.renderPrompt([{ role, content }], false);
      expect([...ids]).toEqual([user, 6, unknown, unknown, unknown, end]);
    }
  });

  it("restores known words with single spaces, whatever white space was between them", () => {
    const words = fc.array(fc.constantFrom("left", "right", "#", "."), { minLength: 1 });
    const spaces = fc.constantFrom(" ", "  ", "\n", "\t ");
    fc.assert(
      fc.property(words, spaces, (list, space) => {
        expect(tokenizer.decode(tokenizer.encode(list.join(space)))).toBe(list.join(" "));
      }),
    );
  });

  it("turns unknown words into the unknown token", () => {
    expect([...tokenizer.encode("left leftright")]).toEqual([6, specialTokens.indexOf("<|unk|>")]);
  });

  it("has its special tokens first, pads with 0 and ends with <|im_end|>", () => {
    expect(specialTokens.map((token) => [...tokenizer.encode(token)])).toEqual([
      [0],
      [1],
      [2],
      [3],
      [4],
      [5],
    ]);
    expect(specialTokens[0]).toBe("<|pad|>");
    expect(tokenizer.endTokens).toEqual([specialTokens.indexOf("<|im_end|>")]);
  });

  it("drops duplicate words, and splits those that contain white space", () => {
    const files = wordTokenizer(["a b", "a", "<|pad|>", ""]);
    const { model } = JSON.parse(files["tokenizer.json"]) as { model: { vocab: Record<string, number> } };
    expect(Object.keys(model.vocab).slice(6)).toEqual(["a", "b"]);
  });

  it("writes and reads calls that are words", () => {
    const call = '<tool_call>{"name":"look","arguments":{"at":"left"}}</tool_call>';
    writeWordTokenizer(calling, [call, "left", "right"]);
    const loaded = loadTokenizer(calling);
    const [asked, calls] = ["left", [{ name: "look", arguments: { at: "left" } }]];
    const messages: Message[] = [
      { role: "user", content: asked },
      { role: "assistant", content: "", calls },
      { role: "tool", content: "right" },
      { role: "assistant", content: "right" },
    ];
    const [end, user, assistant] = [2, 4, 5];
    const ids = [user, 7, end, assistant, 6, end, user, 8, end, assistant, 8, end];
    expect([...loaded.renderPrompt(messages, false)]).toEqual(ids);
    expect(loaded.parseReply([6], true)).toEqual({ text: "", calls, truncated: true });
    // Its template shows no tools, so a role of a recipe cannot have any.
    expect(loaded.writesCalls()).toBe(false);
  });
});
