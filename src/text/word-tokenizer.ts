/**
 * Tokenizers for untrained models: one token for each word of an environment, so that a prompt costs a few dozen tokens
 * and the model is as small as the task. Written in the Hugging Face layout, which transformers reads too.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const pad = "<|pad|>";
const unknown = "<|unk|>";
const end = "<|im_end|>";
const starts = { system: "<|system|>", user: "<|user|>", assistant: "<|assistant|>" } as const;

/** Their ids are 0 … 5, in this order. */
export const specialTokens: readonly string[] = [pad, unknown, end, ...Object.values(starts)];

/**
 * ChatML with one token for `<|im_start|>role\n`: a message costs its words and two tokens. Tool answers have the user
 * role. Calls are in Hermes' format without white space, so that a whole call can be one word; tools are not shown.
 */
function chatTemplate(writesCalls: boolean): string {
  const call = "'<tool_call>' + (call['function'] | tojson(separators=(',', ':'))) + '</tool_call>'";
  const calls = ` }}{% for call in message['tool_calls'] or [] %}{{ ${call} }}{% endfor %}{{ `;
  return (
    "{% for message in messages %}{% set role = 'user' if message['role'] == 'tool' else message['role'] %}" +
    `{{ '<|' + role + '|>' + message['content']${writesCalls ? calls : " + "}'<|im_end|>' }}{% endfor %}` +
    "{% if add_generation_prompt %}{{ '<|assistant|>' }}{% endif %}"
  );
}

export interface WordTokenizerFiles {
  readonly "tokenizer.json": string;
  readonly "tokenizer_config.json": string;
}

/**
 * The files of a word-level tokenizer: text is split at white space, an unlisted word is `<|unk|>`, decoding joins with
 * single spaces. Ids follow the special tokens in the given order; duplicates and white space are dropped. Words such as
 * `<tool_call>{"name":"look","arguments":{"at":"left"}}</tool_call>` are calls of tools.
 */
export function wordTokenizer(words: readonly string[]): WordTokenizerFiles {
  const listed = words.flatMap((word) => word.split(/\s+/)).filter((word) => word !== "");
  const vocabulary = [...new Set([...specialTokens, ...listed])];
  const tokenizer = {
    version: "1.0",
    truncation: null,
    padding: null,
    added_tokens: specialTokens.map(addedToken),
    normalizer: null,
    pre_tokenizer: { type: "WhitespaceSplit" },
    post_processor: null,
    decoder: null,
    model: {
      type: "WordLevel",
      vocab: Object.fromEntries(vocabulary.map((word, id) => [word, id])),
      unk_token: unknown,
    },
  };
  return { "tokenizer.json": json(tokenizer), "tokenizer_config.json": json(configOf(listed)) };
}

/** Writes the files into a model directory, which is created if necessary. */
export function writeWordTokenizer(directory: string, words: readonly string[]): void {
  mkdirSync(directory, { recursive: true });
  for (const [name, text] of Object.entries(wordTokenizer(words))) writeFileSync(join(directory, name), text);
}

function configOf(words: readonly string[]): Readonly<Record<string, unknown>> {
  return {
    tokenizer_class: "PreTrainedTokenizerFast",
    eos_token: end,
    pad_token: pad,
    unk_token: unknown,
    clean_up_tokenization_spaces: false,
    chat_template: chatTemplate(words.some((word) => word.startsWith("<tool_call>"))),
  };
}

function addedToken(content: string, id: number): Readonly<Record<string, unknown>> {
  // Surrounding white space belongs to no token: "left <|im_end|>" and "left<|im_end|>" are the same tokens.
  return { id, content, single_word: false, lstrip: false, rstrip: false, normalized: false, special: true };
}

function json(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}
