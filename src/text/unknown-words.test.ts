import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { loadTokenizer, unknownWords, type Tokenizer } from "./tokenizer.ts";
import { writeWordTokenizer } from "./word-tokenizer.ts";

const fixtures = new URL("../../tests/fixtures/text/", import.meta.url).pathname;
const folder = mkdtempSync(join(tmpdir(), "troupe-words-"));
afterAll(() => rmSync(folder, { recursive: true }));

/** One token for each letter of the alphabet given. */
function letters(alphabet: string, change: object = {}, special = true): Tokenizer {
  const vocab = Object.fromEntries(["<unk>", ...alphabet.split("")].map((letter, id) => [letter, id]));
  const unknown = {
    id: 0,
    content: "<unk>",
    single_word: false,
    lstrip: false,
    rstrip: false,
    normalized: false,
  };
  const tokenizer = {
    added_tokens: [{ ...unknown, special }],
    pre_tokenizer: { type: "Split", pattern: { Regex: "" }, behavior: "Isolated", invert: false },
    decoder: { type: "Fuse" },
    model: { type: "BPE", vocab, merges: [], unk_token: "<unk>" },
    ...change,
  };
  writeFileSync(join(folder, "tokenizer.json"), JSON.stringify(tokenizer));
  return loadTokenizer(folder);
}

describe("words that are not restored from their tokens are unknown to", () => {
  test("a word-level vocabulary that lacks them", () => {
    const directory = join(folder, "words");
    writeWordTokenizer(directory, ["up", "a1"]);
    expect(unknownWords(loadTokenizer(directory), ["up", "a1", "a2", "U"])).toEqual(["a2", "U"]);
  });

  test.each([true, false])(
    "a character-level one that lacks a letter (its unknown token special: %s)",
    (special) => {
      expect(unknownWords(letters("abup", {}, special), ["up", "ab", "pa1", "↑"])).toEqual(["pa1", "↑"]);
    },
  );

  test("one that has no unknown token", () => {
    const model = { type: "WordLevel", vocab: { up: 0 }, unk_token: null };
    const words = letters("", {
      model,
      added_tokens: [],
      pre_tokenizer: { type: "WhitespaceSplit" },
      decoder: null,
    });
    expect(unknownWords(words, ["up", "down"])).toEqual(["down"]);
  });

  test("one that changes them", () => {
    expect(unknownWords(letters("up", { normalizer: { type: "Lowercase" } }), ["up", "Up"])).toEqual(["Up"]);
  });
});

test.each(["qwen2", "llama2"])("a vocabulary with a token for every byte (%s) knows all words", (style) => {
  const words = ["up", "a1", "goal:", "[a1,b2]", "←", "Übermut", "#", "日本", "(move b1 b2)"];
  expect(unknownWords(loadTokenizer(join(fixtures, style)), words)).toEqual([]);
});
