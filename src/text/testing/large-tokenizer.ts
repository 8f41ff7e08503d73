/**
 * Writes tokenizers as large as Llama 3's and Qwen's: byte-level BPE with random instead of learned merges, so that no
 * text is needed. Entry lengths, the number of merges and the special tokens at the end resemble the originals.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { drawInt, generatorOf, rootKey } from "../../random.ts";

export interface LargeTokenizer {
  /** Total entries, including special tokens. */
  readonly size: number;
  readonly specialTokens: readonly string[];
  /** Whether every split of an entry is a merge (Llama 3), or only the learned one (Qwen). */
  readonly everySplit: boolean;
  /** The format of merges: "a b", or ["a", "b"] in newer versions of tokenizers. */
  readonly pairs: boolean;
  readonly split: string;
  readonly normalizer: { readonly type: string } | null;
  /** Whether a word that is an entry skips the merges (Llama 3). */
  readonly ignoreMerges: boolean;
  /** tokenizer_config.json. */
  readonly config: Readonly<Record<string, string>>;
}

const contractions = "(?i:'s|'t|'re|'ve|'m|'ll|'d)";
const rest = String.raw` ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`;

const llamaTokens = [
  "<|begin_of_text|>",
  "<|end_of_text|>",
  ...reserved(0, 2),
  "<|finetune_right_pad_id|>",
  ...reserved(2, 3),
  "<|start_header_id|>",
  "<|end_header_id|>",
  "<|eom_id|>",
  "<|eot_id|>",
  "<|python_tag|>",
  ...reserved(3, 248),
];

/** 128,256 entries. */
export const likeLlama3: LargeTokenizer = {
  size: 128_256,
  specialTokens: llamaTokens,
  everySplit: true,
  pairs: false,
  split: String.raw`${contractions}|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|${rest}`,
  normalizer: null,
  ignoreMerges: true,
  config: {
    bos_token: "<|begin_of_text|>",
    eos_token: "<|eot_id|>",
    chat_template:
      "{{ bos_token }}{% for m in messages %}{{ '<|start_header_id|>' + m['role'] + '<|end_header_id|>\n\n'" +
      " + m['content'] | trim + '<|eot_id|>' }}{% endfor %}" +
      "{% if add_generation_prompt %}{{ '<|start_header_id|>assistant<|end_header_id|>\n\n' }}{% endif %}",
  },
};

/** 151,936 entries, the rows of Qwen's models; its tokenizers have no entry for the last 267. */
export const likeQwen3: LargeTokenizer = {
  size: 151_936,
  specialTokens: [
    "<|endoftext|>",
    "<|im_start|>",
    "<|im_end|>",
    "<tool_call>",
    "</tool_call>",
    "<think>",
    "</think>",
  ],
  everySplit: false,
  pairs: true,
  split: String.raw`${contractions}|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}|${rest}`,
  normalizer: { type: "NFC" },
  ignoreMerges: false,
  config: {
    eos_token: "<|im_end|>",
    pad_token: "<|endoftext|>",
    chat_template:
      "{% for m in messages %}{{ '<|im_start|>' + m['role'] + '\n' + m['content'] + '<|im_end|>\n' }}{% endfor %}" +
      "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}",
  },
};

/** As many entries with the markers and the kind of template of DeepSeek-R1's distilled models: the prompt opens thinking, and earlier thinking is dropped. */
export const likeDeepSeekR1: LargeTokenizer = {
  ...likeQwen3,
  specialTokens: [
    "<｜begin▁of▁sentence｜>",
    "<｜end▁of▁sentence｜>",
    "<｜User｜>",
    "<｜Assistant｜>",
    "<think>",
    "</think>",
  ],
  config: {
    bos_token: "<｜begin▁of▁sentence｜>",
    eos_token: "<｜end▁of▁sentence｜>",
    chat_template:
      "{{ bos_token }}{% for m in messages %}{% if m['role'] == 'system' %}{{ m['content'] }}" +
      "{% elif m['role'] == 'user' %}{{ '<｜User｜>' + m['content'] }}" +
      "{% else %}{{ '<｜Assistant｜>' + m['content'].split('</think>')[-1] + eos_token }}{% endif %}{% endfor %}" +
      "{% if add_generation_prompt %}{{ '<｜Assistant｜><think>\n' }}{% endif %}",
  },
};

/** Writes tokenizer.json and tokenizer_config.json; always the same bytes. */
export function writeLargeTokenizer(directory: string, made: LargeTokenizer): void {
  const config = { ...made.config, clean_up_tokenization_spaces: false };
  mkdirSync(directory, { recursive: true });
  writeFileSync(join(directory, "tokenizer.json"), JSON.stringify(tokenizerJson(made), null, 2));
  writeFileSync(join(directory, "tokenizer_config.json"), JSON.stringify(config));
}

function tokenizerJson(made: LargeTokenizer): unknown {
  const base = made.size - made.specialTokens.length;
  const { entries, merges } = drawEntries(base, made.everySplit);
  return {
    version: "1.0",
    added_tokens: made.specialTokens.map((content, index) => addedToken(content, base + index)),
    normalizer: made.normalizer,
    pre_tokenizer: {
      type: "Sequence",
      pretokenizers: [
        { type: "Split", pattern: { Regex: made.split }, behavior: "Isolated", invert: false },
        { type: "ByteLevel", add_prefix_space: false, trim_offsets: true, use_regex: false },
      ],
    },
    post_processor: null,
    decoder: { type: "ByteLevel", add_prefix_space: true, trim_offsets: true, use_regex: true },
    model: {
      type: "BPE",
      ignore_merges: made.ignoreMerges,
      vocab: Object.fromEntries(entries.map((entry, id) => [entry, id])),
      merges: made.pairs ? merges : merges.map((pair) => pair.join(" ")),
    },
  };
}

/** Qwen's `<think>` and `<tool_call>` are not special: decoding keeps them. */
function addedToken(content: string, id: number): Readonly<Record<string, unknown>> {
  const special = /^<[|｜]/.test(content);
  return { id, content, single_word: false, lstrip: false, rstrip: false, normalized: false, special };
}

type Pair = readonly [string, string];

/** Entries of at most 10 bytes, shorter ones first, each the concatenation of two earlier ones. */
function drawEntries(count: number, everySplit: boolean): { entries: string[]; merges: Pair[] } {
  const generator = generatorOf(rootKey(1));
  const entries = byteCharacters();
  const known = new Set(entries);
  const merges: Pair[] = [];
  // Letters and the space are more frequent than other bytes, as in text.
  const common = Array.from("etaoinshrdlucmfwypvbgkjqxz", (letter, rank) => letter.repeat(27 - rank))
    .join("")
    .split("");
  while (entries.length < count) {
    const left = drawInt(generator, 8) === 0 ? "Ġ" : draw(generator, entries, common);
    const right = draw(generator, entries, common);
    const entry = left + right;
    if (entry.length > 10 || known.has(entry) || right.startsWith("Ġ")) continue;
    known.add(entry);
    entries.push(entry);
    merges.push([left, right]);
    if (everySplit) merges.push(...otherSplits(entry, left.length, known));
  }
  return { entries, merges };
}

function draw(generator: ReturnType<typeof generatorOf>, entries: string[], common: string[]): string {
  const from = drawInt(generator, 4) > 0 ? common : entries;
  return from[drawInt(generator, from.length)] ?? "e";
}

/** The other pairs of existing entries that form the entry. */
function otherSplits(entry: string, not: number, known: ReadonlySet<string>): Pair[] {
  const positions = Array.from({ length: entry.length - 1 }, (_, index) => index + 1);
  return positions
    .filter((at) => at !== not)
    .map((at): Pair => [entry.slice(0, at), entry.slice(at)])
    .filter((pair) => pair.every((part) => known.has(part)));
}

/** GPT-2's printable character for each byte. */
function byteCharacters(): string[] {
  const printable = Array.from({ length: 256 }, (_, byte) => byte).filter(isPrintable);
  const others = Array.from({ length: 256 - printable.length }, (_, index) => 256 + index);
  return [...printable, ...others].map((code) => String.fromCharCode(code));
}

function isPrintable(byte: number): boolean {
  return (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
}

function reserved(from: number, to: number): string[] {
  return Array.from({ length: to - from }, (_, index) => `<|reserved_special_token_${from + index}|>`);
}
