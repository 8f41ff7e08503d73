/** Tokenizers that are made for a recipe, of bytes or of words, and which words others do not know. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { temporaryFolder } from "../test-end.ts";
import { writeByteTokenizer } from "./byte-tokenizer.ts";
import { fixtures, fixtureTokenizer, textOf } from "./testing/fixtures.ts";
import { loadTokenizer, unknownWords, type Message, type Tokenizer } from "./tokenizer.ts";
import { specialTokens, wordTokenizer, writeWordTokenizer } from "./word-tokenizer.ts";

const folder = temporaryFolder();
writeByteTokenizer(join(folder, "bytes"));
const bytes = loadTokenizer(join(folder, "bytes"));
writeWordTokenizer(join(folder, "words"), ["left", "right", "#", "."]);
const words = loadTokenizer(join(folder, "words"));

describe("a byte tokenizer", () => {
  it("has a token for each byte, so any text comes back", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme" }), (text) => {
        const ids = bytes.encode(text);
        expect([...ids]).toEqual([...Buffer.from(text)]);
        expect(textOf(bytes, ids)).toBe(text);
      }),
    );
  });

  it("spends no control token on markup in a message", () => {
    const ids = bytes.renderPrompt([{ role: "user", content: "a <|im_end|> ü" }], true);
    const [start, end] = [257, 258];
    expect([...ids].filter((id) => id === end)).toHaveLength(1);
    expect([...ids].filter((id) => id === start)).toHaveLength(2);
    expect(textOf(bytes, ids)).toBe("<|im_start|>user\na <|im_end|> ü<|im_end|>\n<|im_start|>assistant\n");
  });

  it("shows tools, calls and their answers", () => {
    const messages: Message[] = [
      { role: "user", content: "where" },
      { role: "assistant", content: "", calls: [{ name: "look", arguments: { x: 1 } }] },
      { role: "tool", name: "look", content: "a wall" },
    ];
    const text = textOf(bytes, bytes.renderPrompt(messages, true, [{ name: "look", description: "What." }]));
    expect(text).toMatch(/^<\|im_start\|>system\nCall a tool with <tool_call>.*"name": "look"/s);
    expect(text).toContain('<tool_call>{"name": "look", "arguments": {"x": 1}}</tool_call><|im_end|>');
    expect(text).toContain("<|im_start|>user\na wall<|im_end|>");
  });
});

describe("a word tokenizer", () => {
  it("is the fixture that was checked with transformers", () => {
    const listed = "left right up down wall goal start . # 0 1 2 10 path: you are at say café".split(" ");
    for (const [name, text] of Object.entries(wordTokenizer(listed)))
      expect(text).toBe(readFileSync(join(fixtures, "word-level", name), "utf8"));
  });

  it("spends one token on a word and two on a message", () => {
    const messages = [{ role: "user", content: "left right # ." } as const];
    expect(words.renderPrompt(messages, false)).toHaveLength(6);
    expect(words.renderPrompt(messages, true)).toHaveLength(7);
  });

  it("reads markup in a message as unknown words, and a tool's answer as a user's", () => {
    const [unknown, end, user] = [1, 2, 4];
    const content = "left <|im_end|> <|user|>right <|pad|>";
    for (const role of ["user", "tool"] as const) {
      const ids = words.renderPrompt([{ role, content }], false);
      expect([...ids]).toEqual([user, 6, unknown, unknown, unknown, end]);
    }
  });

  it("has its special tokens first, pads with 0 and ends with <|im_end|>", () => {
    const ids = specialTokens.flatMap((token) => [...words.encode(token)]);
    expect(ids).toEqual([0, 1, 2, 3, 4, 5]);
    expect(specialTokens[0]).toBe("<|pad|>");
    expect(words.endTokens).toEqual([specialTokens.indexOf("<|im_end|>")]);
  });

  it("drops duplicate words, and splits those that contain white space", () => {
    const files = wordTokenizer(["a b", "a", "<|pad|>", ""]);
    const { model } = JSON.parse(files["tokenizer.json"]) as { model: { vocab: Record<string, number> } };
    expect(Object.keys(model.vocab).slice(6)).toEqual(["a", "b"]);
  });

  it("writes and reads calls that are words", () => {
    const call = '<tool_call>{"name":"look","arguments":{"at":"left"}}</tool_call>';
    const calling = join(folder, "calling");
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

/** One token for each letter of the alphabet given. */
function letters(alphabet: string, change: object = {}, special = true): Tokenizer {
  const vocab = Object.fromEntries(["<unk>", ...alphabet.split("")].map((letter, id) => [letter, id]));
  const plain = { single_word: false, lstrip: false, rstrip: false, normalized: false };
  const json = {
    added_tokens: [{ id: 0, content: "<unk>", ...plain, special }],
    pre_tokenizer: { type: "Split", pattern: { Regex: "" }, behavior: "Isolated", invert: false },
    decoder: { type: "Fuse" },
    model: { type: "BPE", vocab, merges: [], unk_token: "<unk>" },
    ...change,
  };
  writeFileSync(join(folder, "tokenizer.json"), JSON.stringify(json));
  return loadTokenizer(folder);
}

describe("words that are not restored from their tokens are unknown to", () => {
  it("a word-level vocabulary that lacks them", () => {
    expect(unknownWords(words, ["left", "right", "up", "L"])).toEqual(["up", "L"]);
  });

  it.each([true, false])(
    "a character-level one that lacks a letter (its unknown token special: %s)",
    (special) => {
      expect(unknownWords(letters("abup", {}, special), ["up", "ab", "pa1", "↑"])).toEqual(["pa1", "↑"]);
    },
  );

  it("one that has no unknown token", () => {
    const model = { type: "WordLevel", vocab: { up: 0 }, unk_token: null };
    const pre_tokenizer = { type: "WhitespaceSplit" };
    const only = letters("", { model, added_tokens: [], pre_tokenizer, decoder: null });
    expect(unknownWords(only, ["up", "down"])).toEqual(["down"]);
  });

  it("one that changes them", () => {
    expect(unknownWords(letters("up", { normalizer: { type: "Lowercase" } }), ["up", "Up"])).toEqual(["Up"]);
  });
});

it.each(["qwen2", "llama2"])("a vocabulary with a token for every byte (%s) knows all words", (style) => {
  const any = ["up", "a1", "goal:", "[a1,b2]", "←", "Übermut", "#", "日本", "(move b1 b2)"];
  expect(unknownWords(fixtureTokenizer(style), any)).toEqual([]);
});
