/** A model's tokenizer and chat template, read from a directory in the Hugging Face layout. */
import { createHash } from "node:crypto";
import { TroupeError } from "../errors.ts";
import { chatTemplate } from "./chat-template.ts";
import { loadCoder, type Coder } from "./coder.ts";
import { isObject, readOptionalObject, type JsonObject } from "./files.ts";
import { escapeMarks, removeMarks } from "./marks.ts";
import { templateMessages, templateTools, type Message, type Tool } from "./messages.ts";
import { parseReply, replyFormatOf, replyTags, type Reply, type ReplyFormat } from "./replies.ts";
import type { TokenBytes } from "./token-bytes.ts";
import { idOfEntry } from "./vocabulary.ts";

export type { Message, Tool } from "./messages.ts";

export interface Tokenizer {
  /** Largest token id plus one. The model's own vocabulary may be padded to more. */
  readonly vocabularySize: number;
  /** Ids that end a turn or a text: when to stop. The first is the tokenizer's eos token, if it has one. */
  readonly endTokens: readonly number[];
  /**
   * Token ids of a text, including control tokens in it; none are added. Never for text from others, which belongs in
   * messages.
   */
  encode(text: string): Int32Array;
  /** The text, without special tokens and ids without an entry. Never throws. */
  decode(tokens: Iterable<number>): string;
  /** Parses the reply in the sampled tokens. Never throws: a malformed call is data. */
  parseReply(tokens: Iterable<number>, truncated: boolean): Reply;
  /** Whether calls are recognised in replies: the model's format is known, and its template shows tools. */
  writesCalls(): boolean;
  /** The bytes of an id (of a special token: its text); empty for an id without an entry. */
  tokenBytes(id: number): Uint8Array;
  /** The concatenated bytes of all ids. */
  readonly allTokenBytes: TokenBytes["all"];
  /** Without a template nothing can be rendered. */
  readonly hasTemplate: boolean;
  /** The chat template's text; with `addGenerationPrompt` it ends where the model's own text starts. */
  render(messages: readonly Message[], addGenerationPrompt: boolean, tools?: readonly Tool[]): string;
  /**
   * The prompt: only the template produces control tokens, whatever the messages and tools say. For histories with a
   * model's words use history.ts, which never tokenises those again.
   */
  renderPrompt(
    messages: readonly Message[],
    addGenerationPrompt: boolean,
    tools?: readonly Tool[],
  ): Int32Array;
  /** `render`, with the marks of marks.ts in messages and tools. */
  renderMarked(messages: readonly Message[], addGenerationPrompt: boolean, tools?: readonly Tool[]): string;
  /** Token ids of marked text: `renderPrompt` is `encodeMarked(renderMarked(…))`. */
  encodeMarked(marked: string): Int32Array;
}

/**
 * Reads tokenizer.json, tokenizer_config.json and the chat template, and the end tokens from generation_config.json and
 * config.json. Special tokens are passed to the template as `bos_token`, `eos_token`, …, and so are `templateVariables`
 * (such as `{ enable_thinking: false }`). @throws TroupeError `bad_model` for missing or damaged files
 */
export function loadTokenizer(directory: string, templateVariables: JsonObject = {}): Tokenizer {
  const coder = loadCoder(directory);
  const { config } = coder;
  const template = chatTemplate(directory, config, { ...specialTokens(config), ...templateVariables });
  const renderMarked: Tokenizer["renderMarked"] = (messages, addGenerationPrompt, tools) =>
    template.render({
      messages: templateMessages(messages, coder.marks),
      tools: templateTools(tools, coder.marks),
      addGenerationPrompt,
    });
  const replies = repliesOf(coder, template.source, renderMarked);
  return {
    vocabularySize: coder.vocabulary.size,
    endTokens: endTokensOf(directory, coder),
    encode: (text) => coder.encode(escapeMarks(text)),
    decode: (tokens) => coder.decode(tokens),
    parseReply: replies.parse,
    writesCalls: () => replies.format().calls !== undefined && template.source.includes("tools"),
    tokenBytes: coder.bytes.of,
    hasTemplate: template.source !== "",
    allTokenBytes: coder.bytes.all,
    render: (...asked) => removeMarks(renderMarked(...asked)),
    renderPrompt: (...asked) => coder.encode(renderMarked(...asked)),
    renderMarked,
    encodeMarked: coder.encode,
  };
}

/** Detected when the first reply is parsed: many tokenizers never parse one. */
function repliesOf(
  { vocabulary, decode }: Coder,
  template: string,
  render: Tokenizer["renderMarked"],
): { readonly parse: Tokenizer["parseReply"]; readonly format: () => ReplyFormat } {
  const tags = new Set(
    vocabulary.control.filter(({ content }) => replyTags.includes(content)).map(({ id }) => id),
  );
  const control = vocabulary.control.map(({ content }) => content);
  let known: ReplyFormat | undefined;
  const format = (): ReplyFormat => (known ??= replyFormatOf(control, template, somePrompt(render)));
  const parse: Tokenizer["parseReply"] = (tokens, truncated) => {
    const { thinking, calls } = format();
    const isPlain = thinking === undefined && calls === undefined;
    return parseReply(isPlain ? decode(tokens) : decode(tokens, tags), format(), truncated);
  };
  return { parse, format };
}

/** Empty if the directory has no template, or one that rejects a single question. */
function somePrompt(render: Tokenizer["renderMarked"]): string {
  try {
    return render([{ role: "user", content: "" }], true);
  } catch (error) {
    if (error instanceof TroupeError) return "";
    throw error;
  }
}

const specialNames = ["bos_token", "eos_token", "pad_token", "unk_token"] as const;

/** A special token is given as its text or as an object with `content`. */
function specialTokens(config: JsonObject): Record<string, string> {
  const found: Record<string, string> = {};
  for (const name of specialNames) {
    const value = config[name];
    const text = isObject(value) ? value["content"] : value;
    if (typeof text === "string") found[name] = text;
  }
  return found;
}

function endTokensOf(directory: string, { config, vocabulary }: Coder): readonly number[] {
  const own = idOfEntry(vocabulary, specialTokens(config)["eos_token"]);
  const listed = ["generation_config.json", "config.json"].map(
    (file) => readOptionalObject(directory, file)["eos_token_id"],
  );
  return [...new Set([own, ...listed.flat()].filter((id) => typeof id === "number"))];
}

/**
 * The words that are not restored from their tokens: a word-level vocabulary lacks them, a character-level one lacks
 * some of their letters, a lower-casing one changes them. A vocabulary with a token for every byte has none. White
 * space is ignored: many decoders put a space before a word.
 */
export function unknownWords(tokenizer: Tokenizer, words: readonly string[]): readonly string[] {
  return words.filter((word) => bare(written(tokenizer, word)) !== bare(word));
}

function written(tokenizer: Tokenizer, word: string): string {
  try {
    return tokenizer.decode(tokenizer.encode(word));
  } catch (error) {
    // A tokenizer without an unknown token throws.
    if (error instanceof TroupeError && error.code === "bad_model") return "";
    throw error;
  }
}

function bare(text: string): string {
  return text.replaceAll(/\s/g, "");
}

/** SHA-256 of every id's bytes, special tokens included; merges, templates and end tokens have no part in it. */
export function vocabularyDigest({ allTokenBytes }: Pick<Tokenizer, "allTokenBytes">): string {
  const { bytes, lengths } = allTokenBytes();
  const hash = createHash("sha256");
  // Little-endian on every machine that this runs on.
  hash.update(new Uint8Array(lengths.buffer, lengths.byteOffset, lengths.byteLength)).update(bytes);
  return hash.digest("hex");
}
