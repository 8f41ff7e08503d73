import * as fc from "fast-check";
import { describe, expect, it, test } from "vitest";
import { parseReply, replyFormatOf, splitReply, type Reply, type ReplyFormat } from "./replies.ts";
import { changedTokenizer, fixtureTokenizer } from "./testing/fixtures.ts";

const thinking = { open: "<think>", close: "</think>", isOpen: false };
const hermes: ReplyFormat = { thinking, calls: "hermes" };
const llama3: ReplyFormat = { calls: "llama3" };
const mistral: ReplyFormat = {
  thinking: { open: "[THINK]", close: "[/THINK]", isOpen: false },
  calls: "mistral",
};

const look = { name: "look", arguments: { x: 1, way: "left [up] {a}" } };
const wait = { name: "wait", arguments: {} };
const json = (call: { name: string; arguments: object }): string => JSON.stringify(call);
const parameters = ({ name, arguments: given }: typeof look | typeof wait): string =>
  JSON.stringify({ name, parameters: given });

/** Without `truncated`, which is an input. */
function read(output: string, format: ReplyFormat): Omit<Reply, "truncated"> {
  const { truncated, ...reply } = parseReply(output, format, true);
  expect(truncated).toBe(true);
  return reply;
}

describe("thinking", () => {
  it.each([
    ["<think>\nhm, left\n</think>\n\ngo left", { thinking: "hm, left", text: "go left" }],
    ["<think>\n\n</think>\n\ngo left", { text: "go left" }],
    ["hm, left\n</think>\n\ngo left", { thinking: "hm, left", text: "go left" }],
    ["<think>hm, le", { thinking: "hm, le", text: "" }],
    ["<think>a</think> x <think>b</think> y", { thinking: "a\nb", text: "x  y" }],
    [
      '<think><tool_call>{"name": "look"}</tool_call></think>no',
      { thinking: '<tool_call>{"name": "look"}</tool_call>', text: "no" },
    ],
  ])("%j", (output, reply) => {
    expect(read(output, hermes)).toEqual(reply);
  });

  it("starts in the prompt if that opens it, even if nothing closes it", () => {
    const open: ReplyFormat = { thinking: { ...thinking, isOpen: true } };
    expect(read("hm, le", open)).toEqual({ thinking: "hm, le", text: "" });
    expect(read("hm</think>left", open)).toEqual({ thinking: "hm", text: "left" });
    expect(read("<think>hm</think>left", open)).toEqual({ thinking: "hm", text: "left" });
  });
});

describe("a long output", () => {
  const times = 5_000;

  it.each([
    ["objects that do not end", hermes, '<tool_call>{\\"'.repeat(times), times],
    ["objects that do not end", mistral, '[TOOL_CALLS]{\\"'.repeat(times), times],
    ["named ones that do not end", mistral, '[TOOL_CALLS]f{\\"'.repeat(times), times],
    ["a list of what is no call", mistral, `[TOOL_CALLS][${"1,".repeat(times)}1]`, times + 1],
  ])("of %s is read in linear time and space", (_, format, output, count) => {
    const { calls = [] } = parseReply(output, format, false);
    expect(calls).toHaveLength(count);
    expect(JSON.stringify(calls).length).toBeLessThan(500 * count);
  });

  it("has calls read after some that do not end", () => {
    const broken = '<tool_call>{"name": "l</tool_call>';
    expect(read(`${broken.repeat(3)}<tool_call>${json(look)}</tool_call>`, hermes).calls?.at(-1)).toEqual(
      look,
    );
  });
});

const looked = { name: "look", arguments: { x: 1 } };
const bad = (error: string, name = "") => ({ name, arguments: {}, error: `the call ${error}` });
const called = (...calls: object[]) => ({ text: "", calls });
const ended = { name: "write", arguments: { text: "</tool_call>" } };
const answers = { query: 'a, "b"', count: 2, safe: true, page: null };
const python = (code: string) => ({ name: "python", arguments: { code } });

describe("calls of Hermes and Qwen", () => {
  it.each([
    [`<tool_call>\n${json(look)}\n</tool_call>`, called(look)],
    [
      `so:\n<tool_call>${json(look)}</tool_call>\n<tool_call>${json(wait)}</tool_call>`,
      { text: "so:", calls: [look, wait] },
    ],
    [`<tool_call>${json(look)}${json(wait)}</tool_call>`, called(look, wait)],
    [`<tool_call>\n${json(look)}`, called(look)],
    [`<tool_call>${json(ended)}</tool_call> done`, { text: "done", calls: [ended] }],
    [`<tool_call>{"name": "wait"}</tool_call>`, called(wait)],
    [`<tool_call>{"name": "look", "arguments": "{\\"x\\": 1}"}</tool_call>`, called(looked)],
  ])("%j", (output, reply) => {
    expect(read(output, hermes)).toEqual(reply);
  });

  it.each([
    ['<tool_call>{"name": "look", "arg', bad('does not end: {"name": "look", "arg')],
    ["<tool_call>look(1)</tool_call>", bad("is not valid JSON: look(1)")],
    ["<tool_call>{'name': 'look'}</tool_call>", bad("is not valid JSON: {'name': 'look'}")],
    ['<tool_call>{"arguments": {}}</tool_call>', bad('has no name: {"arguments": {}}')],
    ["<tool_call></tool_call>", bad("is empty")],
    [
      '<tool_call>{"name": "look", "arguments": [1]}</tool_call>',
      bad('has arguments that are not a JSON object: {"name": "look", "arguments": [1]}', "look"),
    ],
  ])("%j is malformed, which is data", (output, call) => {
    expect(read(`${output}<tool_call>${json(wait)}</tool_call>`, hermes)).toEqual(called(call, wait));
  });

  it("are malformed if they nest too deeply", () => {
    const deep = `${'{"a":'.repeat(9000)}1${"}".repeat(9000)}`;
    const { calls } = read(`<tool_call>{"name":"look","arguments":${deep}}</tool_call>`, hermes);
    expect(calls).toEqual([
      expect.objectContaining({ name: "", error: expect.stringMatching(/is not valid JSON/) }),
    ]);
  });
});

describe("calls of Llama 3", () => {
  it.each([
    [parameters(look), called(look)],
    [`\n${parameters(look)}; ${parameters(wait)}`, called(look, wait)],
    [`<|python_tag|>${parameters(look)}`, called(look)],
    [`<|python_tag|>${json(look)};${parameters(wait)}`, called(look, wait)],
    [
      '<|python_tag|>brave_search.call(query="a, \\"b\\"", count=2, safe=True, page=None)',
      called({ name: "brave_search", arguments: answers }),
    ],
    ["so <|python_tag|>print(1)\n", { text: "so", calls: [python("print(1)")] }],
    ["<|python_tag|>f.call(x)", called(python("f.call(x)"))],
    ["<|python_tag|>", called(bad("is empty"))],
    ['<|python_tag|>{"name": "look", "para', called(bad('is not valid JSON: {"name": "look", "para'))],
  ])("%j", (output, reply) => {
    expect(read(output, llama3)).toEqual(reply);
  });

  it.each([
    '{"answer": 1}',
    '{"name": "Ann"}',
    '{"name": "look", "para',
    `it is ${parameters(look)}`,
    "{}",
    "[]",
  ])("are not in %j, which is text", (output) => {
    expect(read(output, llama3)).toEqual({ text: output });
  });
});

describe("calls of Mistral", () => {
  const named = { ...wait, id: "abcdefghi" };
  it.each([
    [`[TOOL_CALLS] [${json(look)}, ${json(wait)}]`, called(look, wait)],
    [
      `so[TOOL_CALLS][{"name": "wait", "arguments": {}, "id": "abcdefghi"}] then`,
      { text: "so then", calls: [named] },
    ],
    ['[TOOL_CALLS]look[ARGS]{"x": 1}[TOOL_CALLS]wait[CALL_ID]abcdefghi[ARGS]{}', called(looked, named)],
    ['[THINK]hm[/THINK][TOOL_CALLS]look{"x": 1}', { thinking: "hm", ...called(looked) }],
    [
      "[TOOL_CALLS]look[ARGS]{x}[TOOL_CALLS]wait[ARGS]{",
      called(bad("is not valid JSON: look[ARGS]{x}", "look"), bad("is not valid JSON: wait[ARGS]{")),
    ],
    ["[TOOL_CALLS]", called(bad("is empty"))],
    ["[TOOL_CALLS][]", { text: "" }],
  ])("%j", (output, reply) => {
    expect(read(output, mistral)).toEqual(reply);
  });
});

/** Parts of outputs, whole and in pieces. */
const tags =
  "<think> </think> <tool_call> </tool_call> [TOOL_CALLS] [ARGS] [CALL_ID] [THINK] [/THINK] <|python_tag|>";
const signs = '{ } [ ] " \\ look ; , .call(';
const parts = fc.constantFrom(json(look), parameters(wait), " ", "\n", ...`${tags} ${signs}`.split(" "));
const outputs = fc.array(fc.oneof(parts, fc.string({ unit: "binary", maxLength: 3 })), { maxLength: 12 });

test.each([
  ["hermes", hermes],
  ["llama3", llama3],
  ["mistral", mistral],
  ["no format", {}],
])("the parts of any output of %s add up to it, and parsing never throws", (_, format) => {
  fc.assert(
    fc.property(outputs, fc.boolean(), (pieces, truncated) => {
      const output = pieces.join("");
      const segments = splitReply(output, format);
      expect(segments.map(({ raw }) => raw).join("")).toBe(output);
      expect(segments.every(({ raw }) => raw !== "")).toBe(true);
      const reply = parseReply(output, format, truncated);
      expect(reply.calls?.length ?? 0).toBe(segments.flatMap(({ calls = [] }) => calls).length);
      expect(JSON.parse(JSON.stringify(reply))).toEqual(reply);
      const isPlain = segments.every(({ kind }) => kind === "text");
      expect(reply.text).toBe(isPlain ? output : reply.text.trim());
    }),
    { numRuns: 300 },
  );
});

const think = (text: string): string => `<think>\n${text}\n</think>\n\n`;
const quoted = (text: string): string => `[THINK]${text}[/THINK]`;
const tagged = (call: typeof look): string => `<tool_call>\n${json(call)}\n</tool_call>`;
const listed = (call: typeof look): string =>
  `[TOOL_CALLS]${call.name}[ARGS]${JSON.stringify(call.arguments)}`;

test.each([
  ["hermes", hermes, think, tagged],
  ["mistral", mistral, quoted, listed],
])("calls in the format of %s are parsed back", (_, format, thought, write) => {
  const word = fc
    .string({ unit: fc.constantFrom("a", "b", " ", "{", "}", '"', "\\", "\n") })
    .map((text) => `a${text}b`);
  const given = fc.dictionary(word, fc.jsonValue({ maxDepth: 3 }), { maxKeys: 3 });
  const call = fc.record({ name: fc.constantFrom("look", "wait"), arguments: given });
  fc.assert(
    fc.property(word, word, fc.array(call, { minLength: 1, maxLength: 3 }), (thinks, text, calls) => {
      const made = calls.map((one) => JSON.parse(JSON.stringify(one)) as typeof look);
      const output = thought(thinks) + text + made.map(write).join("");
      expect(read(output, format)).toEqual({ thinking: thinks, text, calls: made });
    }),
  );
});

describe("a tokenizer", () => {
  it.each([
    [
      "qwen3",
      '<think>\nhm\n</think>\n\nso<tool_call>\n{"name": "wait"}\n</tool_call><|im_end|>',
      { thinking: "hm", text: "so", calls: [wait] },
    ],
    ["llama31", '<|python_tag|>{"name": "look", "parameters": {"x": 1}}<|eom_id|>', called(looked)],
    ["llama31", '{"name": "look", "parameters": {"x": 1}}<|eot_id|>', called(looked)],
    ["mistral", '[TOOL_CALLS] [{"name": "look", "arguments": {"x": 1}}]</s>', called(looked)],
    [
      "qwen2",
      "<think>hm</think><tool_call>{}</tool_call>",
      { text: "<think>hm</think><tool_call>{}</tool_call>" },
    ],
    ["word-level", "left<|im_end|>right", { text: "left right" }],
  ])("in the style of %s parses %j", (style, written, reply) => {
    const tokenizer = fixtureTokenizer(style);
    const tokens = tokenizer.encode(written);
    expect(tokenizer.parseReply(tokens, false)).toEqual({ ...reply, truncated: false });
  });

  it("recognises that its prompt opens thinking", () => {
    const template = "{{ messages[0].content }}<|im_start|>assistant\n<think>\n";
    const tokenizer = changedTokenizer("qwen3", { "chat_template.jinja": template });
    const tokens = tokenizer.encode("hm");
    expect(tokenizer.parseReply(tokens, true)).toEqual({ text: "", thinking: "hm", truncated: true });
  });

  it("without a template is chosen by the vocabulary", () => {
    const tokenizer = changedTokenizer("mistral", { "chat_template.jinja": "" });
    const tokens = tokenizer.encode("[TOOL_CALLS]wait{}");
    expect(tokenizer.parseReply(tokens, false).calls).toEqual([wait]);
  });

  it.each(["qwen2", "llama2", "llama3", "word-level"])(
    "of a style without a format (%s) gives the decoded text",
    (style) => {
      const tokenizer = fixtureTokenizer(style);
      const ids = fc.array(fc.integer({ min: -1, max: tokenizer.vocabularySize + 9 }));
      fc.assert(
        fc.property(ids, fc.boolean(), (tokens, truncated) => {
          expect(tokenizer.parseReply(tokens, truncated)).toEqual({
            text: tokenizer.decode(tokens),
            truncated,
          });
        }),
      );
    },
  );
});

test("a template's format takes precedence over the vocabulary's", () => {
  expect(replyFormatOf(["<|python_tag|>"], "… <tool_call> …", "")).toEqual({ calls: "hermes" });
  expect(replyFormatOf(["<|python_tag|>"], "", "")).toEqual({ calls: "llama3" });
  expect(replyFormatOf(["<|im_end|>"], "", "")).toEqual({});
});
