import { cpSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { writeByteTokenizer } from "../text/byte-tokenizer.ts";
import { fixtures } from "../text/testing/fixtures.ts";
import { tokenizerMetadata } from "./gguf-tokenizer.ts";
import { failure, temporaryFolder } from "./test-model.ts";

const folder = temporaryFolder();

type Json = Record<string, unknown>;

interface TokenizerJson {
  readonly model: Json;
  readonly pre_tokenizer: { readonly pretokenizers: Json[] };
  readonly added_tokens: Json[];
}

/** A fixture's directory with changed files. */
function changed(style: string, change: (tokenizer: TokenizerJson, config: Json) => unknown): string {
  const directory = join(folder, `${style}-${Math.random()}`);
  cpSync(join(fixtures, style), directory, { recursive: true });
  const files = ["tokenizer.json", "tokenizer_config.json"].map((name) => join(directory, name));
  const [tokenizer, config] = files.map((file) => JSON.parse(readFileSync(file, "utf8")) as unknown);
  change(tokenizer as TokenizerJson, config as Json);
  [tokenizer, config].forEach((value, i) => writeFileSync(files[i] ?? "", JSON.stringify(value)));
  return directory;
}

const metadata = (directory: string): Json => Object.fromEntries(tokenizerMetadata(directory, 500));

test.each([
  ["qwen2", "qwen2"],
  ["qwen3", "qwen2"],
  ["llama3", "llama-bpe"],
  ["llama31", "llama-bpe"],
])("%s separates words as %s", (style, name) => {
  expect(metadata(join(fixtures, style))["tokenizer.ggml.pre"]).toBe(name);
});

test("other patterns with names", () => {
  const level = { type: "ByteLevel", add_prefix_space: false, trim_offsets: true, use_regex: true };
  const pre = (pre_tokenizer: unknown) =>
    metadata(changed("qwen2", (json) => Object.assign(json, { pre_tokenizer })))["tokenizer.ggml.pre"];
  expect(pre(level)).toBe("gpt-2");
  expect(pre({ type: "Sequence", pretokenizers: [{ type: "Digits", individual_digits: true }, level] })).toBe(
    "smollm",
  );
  const merged = changed("llama3", (json) => (json.model["ignore_merges"] = false));
  expect(metadata(merged)["tokenizer.ggml.pre"]).toBe("smaug-bpe");
  writeByteTokenizer(join(folder, "bytes"));
  expect(metadata(join(folder, "bytes"))).toMatchObject({
    "tokenizer.ggml.pre": "gpt-2",
    "tokenizer.ggml.merges": [],
  });
});

test("every end token is named, and a first token only if prompts have it", () => {
  expect(metadata(join(fixtures, "llama31"))).toMatchObject({
    "tokenizer.ggml.bos_token_id": 389,
    "tokenizer.ggml.eos_token_id": 394,
    "tokenizer.ggml.eot_token_id": 390,
    "tokenizer.ggml.eom_token_id": 393,
    "tokenizer.ggml.add_bos_token": false, // It has no post-processor.
  });
  expect(metadata(join(fixtures, "llama3"))["tokenizer.ggml.add_bos_token"]).toBe(true);
  const without = changed("llama3", () => {});
  writeFileSync(join(without, "chat_template.jinja"), "{{ messages[0]['content'] }}");
  expect(metadata(without)["tokenizer.ggml.add_bos_token"]).toBe(false);
});

test("a template of its own for tools", () => {
  const templates = [
    { name: "default", template: "usual" },
    { name: "tool_use", template: "with tools" },
  ];
  const directory = changed("qwen2", (_, config) => (config["chat_template"] = templates));
  expect(metadata(directory)).toMatchObject({
    "tokenizer.chat_template": "usual",
    "tokenizer.chat_templates": ["tool_use"],
    "tokenizer.chat_template.tool_use": "with tools",
  });
});

/** Puts the settings where the path leads in the tokenizer's file. */
const at =
  (place: (json: TokenizerJson) => unknown, settings: object) =>
  (json: TokenizerJson): unknown =>
    Object.assign(place(json) as Json, settings);
const step = (index: number) => (json: TokenizerJson) => json.pre_tokenizer.pretokenizers[index];
const whole = (json: TokenizerJson) => json;
const modelOf = (json: TokenizerJson) => json.model;
const added = (index: number) => (json: TokenizerJson) => json.added_tokens.at(index);

test.each<[string, string, (json: TokenizerJson, config: Json) => unknown]>([
  ["separates words in a way without a name", "qwen2", at(step(0), { pattern: { Regex: "\\p{L}+|." } })],
  ["separates words in a way without a name", "qwen2", at(step(0), { behavior: "Removed" })],
  ["does not merge words that are entries", "qwen2", at(modelOf, { ignore_merges: true })],
  ["does not write words as bytes", "qwen2", at(whole, { pre_tokenizer: { type: "Whitespace" } })],
  ["puts a space before each text", "qwen2", at(step(1), { add_prefix_space: true })],
  ["changes texts first (Lowercase)", "qwen2", at(whole, { normalizer: { type: "Lowercase" } })],
  ['the added token "<think>" with lstrip', "qwen3", at(added(-2), { lstrip: true })],
  ["has no end token", "qwen3", (_, config) => delete config["eos_token"]],
  ["has no bos_token, but its chat template uses one", "llama3", (_, config) => delete config["bos_token"]],
  ["has no tokens besides added ones", "qwen2", at(modelOf, { vocab: {}, merges: [] })],
  ["BPE in the style of SentencePiece", "llama2", () => {}],
  ["BPE in the style of SentencePiece", "mistral", () => {}],
  ["has 600 tokens, but the model only 500 rows", "qwen2", at(added(2), { id: 599 })],
  ["another kind (WordLevel; expected byte-level BPE)", "word-level", () => {}],
])("is rejected, with what to do instead: %s", async (message, style, change) => {
  const told = await failure("bad_model", () => metadata(changed(style, change)));
  expect(told).toContain(message);
  expect(told).toContain("export it with `--to merged`");
});
