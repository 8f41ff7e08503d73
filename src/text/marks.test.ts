import { readFileSync } from "node:fs";
import { join } from "node:path";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { dataMarks, removeMarks } from "./marks.ts";
import { changedTokenizer, fixtures, fixtureTokenizer } from "./testing/fixtures.ts";
import type { Message, Tool } from "./tokenizer.ts";

interface Added {
  readonly id: number;
  readonly content: string;
}

function addedTokens(style: string): Added[] {
  const file = readFileSync(join(fixtures, style, "tokenizer.json"), "utf8");
  return (JSON.parse(file) as { added_tokens: Added[] }).added_tokens;
}

/** Text that resembles markup: whole tokens, parts of them, the mark character, halves of characters. */
function hostileText(markup: readonly string[]): fc.Arbitrary<string> {
  const token = fc.constantFrom(...markup);
  const piece = fc
    .tuple(token, fc.nat(), fc.nat())
    .map(([text, a, b]) => text.slice(a % text.length, (a % text.length) + 1 + (b % text.length)));
  const odd = fc.constantFrom(
    ...'\u007F \u007F\u007F \uD83D \uDC4D @@model-turn-1@@ { " \\'.split(" "),
    " ",
    "\n",
  );
  const part = fc.oneof(token, piece, odd, fc.string({ unit: "binary", maxLength: 4 }));
  return fc.array(part, { maxLength: 6 }).map((parts) => parts.join(""));
}

/** A conversation whose free texts are each one of `texts`. */
function conversation(style: string, texts: readonly string[]): { messages: Message[]; tools: Tool[] } {
  const [system = "", user = "", thinking = "", name = "", key = "", value = "", answer = "", end = ""] =
    texts;
  const call = { name: `f${name}`, arguments: { [`k${key}`]: [value, { [key]: 1 }] } };
  const asked: Message[] = [
    { role: "system", content: system },
    { role: "user", content: user },
  ];
  if (!["qwen3", "llama31", "mistral"].includes(style)) return { messages: asked, tools: [] };
  const messages: Message[] = [
    ...asked,
    { role: "assistant", content: value, thinking: `t${thinking}`, calls: [call] },
    { role: "tool", content: answer, name },
    { role: "assistant", content: end, thinking: `t${thinking}` },
  ];
  const parameters = { type: "object", properties: { [`k${key}`]: { description: value } } };
  return { messages, tools: [{ name: `f${name}`, description: thinking, parameters }] };
}

describe.each(["qwen2", "qwen3", "llama2", "llama3", "llama31", "mistral", "word-level"])(
  "in the style of %s",
  (style) => {
    const tokenizer = fixtureTokenizer(style);
    const added = addedTokens(style);
    const unknown = added.find(({ content }) => /unk/.test(content))?.id;
    const controlIds = (ids: Iterable<number>): number[] =>
      [...ids].filter((id) => id !== unknown && added.some((token) => token.id === id));
    const control = (texts: readonly string[]): number[] => {
      const { messages, tools } = conversation(style, texts);
      return controlIds(tokenizer.renderPrompt(messages, true, tools));
    };

    it("no message, call or tool adds or removes a control token", () => {
      const usual = control(Array.from({ length: 8 }, () => "left"));
      expect(usual).not.toEqual([]);
      const text = hostileText(added.map(({ content }) => content));
      fc.assert(
        fc.property(fc.array(text, { minLength: 8, maxLength: 8 }), (texts) => {
          expect(control(texts)).toEqual(usual);
        }),
        { numRuns: 60 },
      );
    });
  },
);

it("a message reaches the model letter for letter", () => {
  const tokenizer = fixtureTokenizer("qwen3");
  const text = hostileText(addedTokens("qwen3").map(({ content }) => content));
  fc.assert(
    fc.property(text, text, (content, answer) => {
      const messages: Message[] = [
        { role: "user", content },
        { role: "assistant", content: "", calls: [{ name: "look", arguments: {} }] },
        { role: "tool", content: answer },
      ];
      const prompt = `<|im_start|>user\n${content}<|im_end|>\n<|im_start|>assistant\n<tool_call>\n{"name": "look", "arguments": {}}\n</tool_call><|im_end|>\n<|im_start|>user\n<tool_response>\n${answer}\n</tool_response><|im_end|>\n`;
      expect(tokenizer.render(messages, false)).toBe(prompt);
      const bytes = [...tokenizer.renderPrompt(messages, false)].map((id) => tokenizer.tokenBytes(id));
      expect(Buffer.concat(bytes).toString().normalize("NFC")).toBe(prompt.toWellFormed().normalize("NFC"));
    }),
    { numRuns: 60 },
  );
});

/** A message in a template: its text, and the control tokens in the prompt. */
function chat(template: string, content: string): { text: string; markup: string[] } {
  const tokenizer = changedTokenizer("qwen3", { "chat_template.jinja": template });
  const messages: Message[] = [{ role: "user", content }];
  const ids = [...tokenizer.renderPrompt(messages, false)];
  const added = new Map(addedTokens("qwen3").map((token) => [token.id, token.content]));
  return { text: tokenizer.render(messages, false), markup: ids.flatMap((id) => added.get(id) ?? []) };
}

describe("a template that", () => {
  it("looks for markup in a message finds none", () => {
    const template =
      "{{ 'thought' if '</think>' in messages[0].content else 'plain' }} {{ messages[0].content.split('</think>')[-1] }}";
    const { text, markup } = chat(template, "<think>a</think>b");
    expect(text).toBe("plain <think>a</think>b");
    expect(markup).toEqual([]);
  });

  it("trims still trims, without creating markup", () => {
    const { text, markup } = chat(
      "<think>{{ messages[0].content | trim }}</think>",
      " \n</think> left <think>\u007F ",
    );
    expect(text).toBe("<think></think> left <think>\u007F</think>");
    expect(markup).toEqual(["<think>", "</think>"]);
  });

  it.each([
    ["<|im_{{ messages[0].content }}", "end|> left"],
    ["<|im_{{ messages[0].content | trim }}", "  end|>"],
    ["<|{{ messages[0].content | trim }}_end|>", " im "],
    ["{{ messages[0].content }}im_end|>", "left <|"],
    ["{{ messages[0].content | trim }}|im_end|>", "< "],
    ["{{ messages[0].content.split(' ')[0] }}_end|>", "<|im x"],
    ["{{ messages[0].content | replace('x', '') }}", "<|im_xend|>"],
    ["{{ messages[0].content | tojson }}", '<|im_end|>"<think>'],
  ])("writes half of a token cannot be completed by a message (%s)", (template, content) => {
    expect(chat(template, content).markup).toEqual([]);
  });

  it("writes markup itself still does", () => {
    const template = "{% for m in messages %}<|im_start|>{{ m.content }}<{{ '|im_end|' }}>{% endfor %}";
    expect(chat(template, "<|im_end|>").markup).toEqual(["<|im_start|>", "<|im_end|>"]);
  });
});

describe("marks", () => {
  const marks = dataMarks(["<|im_end|>", "[INST]"]);

  it("are only added to text that contains a control token's first character or could complete one", () => {
    const texts = ["", "left", "  right\n", "a > b", "x|im_end|>", "end.", '{"a": 1}'];
    for (const text of texts) expect(marks.text(text)).toBe(text);
  });

  it("are added after what may start a control token, and into what may complete one", () => {
    expect(marks.text("a < b")).toBe("a <\u007F b");
    expect(marks.text(" _end|> left")).toBe(" _\u007Fend|> left");
    expect(marks.text("im")).toBe("i\u007Fm");
  });

  it("break control tokens whatever they start with", () => {
    for (const token of ["--end--", "/end/", "|end|", "^end", "\\end", "\u{1F389}end", "endoftext"]) {
      expect(dataMarks([token]).text(`left ${token}`)).not.toContain(token);
    }
  });

  it("are removed again, except for those that the text contained", () => {
    fc.assert(
      fc.property(hostileText(["<|im_end|>", "[INST]"]), (text) => {
        expect(removeMarks(marks.text(text))).toBe(text);
        expect(marks.text(text).split(/<\|im_end\|>|\[INST\]/)).toHaveLength(1);
      }),
    );
  });
});
