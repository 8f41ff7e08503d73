/**
 * A tokenizer for untrained models that read any text: one token for each byte, in ChatML with tools as Hermes and Qwen
 * write them. Prompts are long, so it serves to try a recipe, not to learn a task.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const end = "<|im_end|>";
const pad = "<|endoftext|>";
const control: readonly string[] = [pad, "<|im_start|>", end];
/** As in Qwen's vocabularies, decoding keeps them: replies are parsed by them. */
const tags: readonly string[] = ["<tool_call>", "</tool_call>", "<think>", "</think>"];

const toolLines =
  'Call a tool with <tool_call>{"name": …, "arguments": {…}}</tool_call>. The tools:\\n\'' +
  "}}{% for tool in tools %}{{ tool | tojson + '\\n' }}{% endfor %}{{ '<|im_end|>\\n' }}";

/** ChatML with tools, without any model's own words. */
export const chatTemplate =
  `{% if tools %}{{ '<|im_start|>system\\n${toolLines}{% endif %}` +
  "{% for message in messages %}" +
  "{{ '<|im_start|>' + ('user' if message['role'] == 'tool' else message['role']) + '\\n' + message['content'] }}" +
  "{% if message.tool_calls %}{% for call in message.tool_calls %}" +
  "{{ '<tool_call>' + (call.function | tojson) + '</tool_call>' }}{% endfor %}{% endif %}" +
  "{{ '<|im_end|>\\n' }}{% endfor %}" +
  "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}";

/** Writes tokenizer.json and tokenizer_config.json into a directory, which is created if necessary. */
export function writeByteTokenizer(directory: string): void {
  mkdirSync(directory, { recursive: true });
  writeFileSync(join(directory, "tokenizer.json"), json(tokenizer()));
  writeFileSync(join(directory, "tokenizer_config.json"), json(config));
}

const config = {
  tokenizer_class: "PreTrainedTokenizerFast",
  eos_token: end,
  pad_token: pad,
  clean_up_tokenization_spaces: false,
  chat_template: chatTemplate,
};

/** Ids are the bytes themselves, then the added tokens. */
function tokenizer(): object {
  const characters = byteCharacters();
  const level = { type: "ByteLevel", add_prefix_space: false, trim_offsets: true, use_regex: false };
  return {
    version: "1.0",
    truncation: null,
    padding: null,
    added_tokens: [...control, ...tags].map((content, index) => addedToken(content, 256 + index)),
    normalizer: null,
    pre_tokenizer: level,
    post_processor: null,
    decoder: level,
    model: { type: "BPE", vocab: Object.fromEntries(characters.map((text, id) => [text, id])), merges: [] },
  };
}

function addedToken(content: string, id: number): Readonly<Record<string, unknown>> {
  const special = control.includes(content);
  return { id, content, single_word: false, lstrip: false, rstrip: false, normalized: false, special };
}

/** The printable character by which byte-level vocabularies write each byte (GPT-2's `bytes_to_unicode`). */
function byteCharacters(): string[] {
  let others = 256;
  return Array.from({ length: 256 }, (_, byte) => String.fromCharCode(isPrintable(byte) ? byte : others++));
}

function isPrintable(byte: number): boolean {
  return (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
}

function json(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}
