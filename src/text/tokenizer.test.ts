import { readFileSync } from "node:fs";
import { join } from "node:path";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { changedTokenizer, fixtures, fixtureTokenizer, textOf } from "./testing/fixtures.ts";
import { loadTokenizer, type Message, type Tokenizer, type Tool } from "./tokenizer.ts";

/** Results of transformers: tests/fixtures/text/make.py. */
interface Expected {
  readonly vocabularySize: number;
  readonly eos: number;
  readonly texts: readonly { readonly text: string; readonly ids: number[]; readonly decoded: string }[];
  readonly chats: readonly {
    readonly messages: Message[];
    readonly tools?: Tool[];
    readonly addGenerationPrompt: boolean;
    readonly text: string;
    readonly ids: number[];
  }[];
  /** A user's message and a generation prompt. */
  readonly markup?: readonly { readonly content: string; readonly ids: number[] }[];
}

function fixture(style: string): { tokenizer: Tokenizer; expected: Expected } {
  const expected = JSON.parse(readFileSync(join(fixtures, style, "expected.json"), "utf8")) as Expected;
  return { tokenizer: fixtureTokenizer(style), expected };
}

const styles = ["qwen2", "qwen3", "llama2", "llama3", "llama31", "mistral", "word-level"];

describe.each(styles)("a tokenizer in the style of %s", (style) => {
  const { tokenizer, expected } = fixture(style);

  it("encodes as in transformers", () => {
    for (const { text, ids } of expected.texts) expect([...tokenizer.encode(text)]).toEqual(ids);
  });

  it("decodes as in transformers", () => {
    for (const { ids, decoded } of expected.texts) expect(tokenizer.decode(ids)).toBe(decoded);
  });

  it("renders chats as in transformers", () => {
    for (const { messages, tools, addGenerationPrompt, text, ids } of expected.chats) {
      expect(tokenizer.render(messages, addGenerationPrompt, tools)).toBe(text);
      expect([...tokenizer.renderPrompt(messages, addGenerationPrompt, tools)]).toEqual(ids);
    }
  });

  it("encodes messages spelled like markup as text", () => {
    for (const { content, ids } of expected.markup ?? []) {
      expect([...tokenizer.renderPrompt([{ role: "user", content }], true)]).toEqual(ids);
    }
  });

  it("knows its size and its end token", () => {
    expect(tokenizer.vocabularySize).toBe(expected.vocabularySize);
    expect(tokenizer.endTokens[0]).toBe(expected.eos);
  });

  it("decodes any ids without throwing, even those without an entry", () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: -1, max: tokenizer.vocabularySize + 99 })), (ids) => {
        expect(typeof tokenizer.decode(ids)).toBe("string");
      }),
    );
  });

  it("parses a reply without control markup into the decoded text", () => {
    for (const { ids, decoded } of expected.texts) {
      expect(tokenizer.parseReply(ids, true)).toEqual({ text: decoded, truncated: true });
    }
  });

  it("encodes any text without throwing, into ids of its vocabulary", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (text) => {
        const ids = tokenizer.encode(text);
        expect(ids.every((id) => id >= 0 && id < tokenizer.vocabularySize)).toBe(true);
      }),
    );
  });
});

describe("tokenBytes", () => {
  it("of byte-level vocabularies add up to the text", () => {
    for (const style of ["qwen2", "llama3"]) {
      const { tokenizer, expected } = fixture(style);
      for (const { text } of expected.texts) {
        const normal = style === "qwen2" ? text.normalize("NFC") : text;
        expect(textOf(tokenizer, tokenizer.encode(text))).toBe(normal);
      }
    }
  });

  it("of sentencepiece vocabularies add up to the text and the space before it", () => {
    const { tokenizer, expected } = fixture("llama2");
    for (const { text } of expected.texts.slice(1)) {
      expect(textOf(tokenizer, tokenizer.encode(text))).toBe(` ${text}`);
    }
  });

  it("of word-level vocabularies are the word and the space before it", () => {
    const { tokenizer } = fixture("word-level");
    expect(textOf(tokenizer, tokenizer.encode("left\nwall"))).toBe(" left wall");
  });

  it("of special tokens are their text, and of a missing entry nothing", () => {
    const { tokenizer } = fixture("llama3");
    expect(textOf(tokenizer, tokenizer.endTokens)).toBe("<|eot_id|>");
    expect(tokenizer.tokenBytes(100_000)).toEqual(new Uint8Array());
  });
});

describe("end tokens", () => {
  it("come from the tokenizer and generation configurations, each once", () => {
    const { tokenizer } = fixture("qwen2");
    expect(textOf(tokenizer, tokenizer.endTokens)).toBe("<|im_end|><|endoftext|>");
    expect(tokenizer.endTokens).toHaveLength(2);
  });
});

const damaged = (files: Readonly<Record<string, string>>) => () => changedTokenizer("qwen2", files);

describe("a damaged model directory", () => {
  const user: Message[] = [{ role: "user", content: "hello" }];

  it.each([
    ["no JSON", { "tokenizer.json": '{"model": {' }, /tokenizer\.json is not valid JSON.*copy it again/],
    ["no object", { "tokenizer.json": "[]" }, /tokenizer\.json must contain a JSON object/],
    ["no model", { "tokenizer.json": "{}" }, /tokenizer\.json is not a usable tokenizer/],
    [
      "an unknown model",
      { "tokenizer.json": '{"model": {"type": "Magic"}}' },
      /not a usable tokenizer: .*Magic/,
    ],
    [
      "an id larger than any vocabulary",
      { "tokenizer.json": '{"model": {"type": "BPE", "vocab": {"a": 100000000}, "merges": []}}' },
      /the id of "a" is 100000000; expected a whole number from 0 to 65539/,
    ],
    [
      "a pre-tokenizer that fails on any text",
      {
        "tokenizer.json": JSON.stringify({
          model: { type: "BPE", vocab: { a: 0 }, merges: [] },
          pre_tokenizer: { type: "Split", pattern: { Regex: "a" }, behavior: [] },
        }),
      },
      /not a usable tokenizer: .*behavior/,
    ],
    ["a template that is no Jinja", { "chat_template.jinja": "{% for %}" }, /template that cannot be parsed/],
  ])("%s is a bad_model error that names the file", (_, files, message) => {
    expect(damaged(files)).toThrowError(
      expect.objectContaining({ code: "bad_model", message: expect.stringMatching(message) }),
    );
  });

  it("that is missing is named, with what to do", () => {
    expect(() => loadTokenizer(join(fixtures, "nowhere"))).toThrowError(
      /nowhere\/tokenizer\.json does not exist.*troupe init/,
    );
  });

  it("without a template loads, and reports it when rendering", () => {
    const tokenizer = damaged({ "tokenizer_config.json": "{}" })();
    expect(() => tokenizer.render(user, true)).toThrowError(/has no chat template/);
    expect(tokenizer.encode("left").length).toBeGreaterThan(0);
  });

  it("with a template that rejects the roles reports which", () => {
    const { tokenizer } = fixture("llama2");
    const twice = [...user, ...user];
    expect(() => tokenizer.render(twice, true)).toThrowError(
      /rejects the messages \(user, user\): roles must alternate/,
    );
  });
});
