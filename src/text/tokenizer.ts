/** A model's tokenizer and chat template, read from a directory in the Hugging Face layout. */
import { Tokenizer as HuggingFaceTokenizer } from "@huggingface/tokenizers";
import { TroupeError } from "../errors.ts";
import { chatTemplate, type Message } from "./chat-template.ts";
import { isObject, readObject, readOptionalObject, type JsonObject } from "./files.ts";
import type { Reply } from "./replies.ts";
import { tokenBytesTable } from "./token-bytes.ts";

export type { Message } from "./chat-template.ts";

/** The part of the library used here. Its own declarations import without extensions, which Node's resolution refuses. */
interface Library {
  encode(
    text: string,
    options: { add_special_tokens: boolean },
  ): { ids: (number | undefined)[]; tokens: string[] };
  decode(
    ids: number[],
    options: { skip_special_tokens: boolean; clean_up_tokenization_spaces: boolean },
  ): string;
  id_to_token(id: number): string | undefined;
  get_vocab(withAddedTokens: boolean): Map<string, number>;
  get_added_tokens_decoder(): Map<number, unknown>;
}

export interface Tokenizer {
  /** Largest token id plus one. The model's own vocabulary may be padded to more. */
  readonly vocabularySize: number;
  /** Ids that end a turn or a text: what to stop at. The first is the tokenizer's eos token, where it has one. */
  readonly endTokens: readonly number[];
  /** Token ids of the text, special tokens in it recognised, none added. */
  encode(text: string): Int32Array;
  /** The text, special tokens and ids without an entry left out. Never throws. */
  decode(tokens: Iterable<number>): string;
  /** The reply in the sampled tokens, which stay as they are. Never throws: a malformed call is data. */
  parseReply(tokens: Iterable<number>, truncated: boolean): Reply;
  /** The bytes the id stands for (a special token: its own text); empty for an id without an entry. */
  tokenBytes(id: number): Uint8Array;
  /** The chat template's text; with `addGenerationPrompt` it ends where the model's own text begins. */
  render(messages: readonly Message[], addGenerationPrompt: boolean): string;
  /** `encode(render(…))`. For histories that hold a model's words use history.ts, which never tokenises those again. */
  renderPrompt(messages: readonly Message[], addGenerationPrompt: boolean): Int32Array;
}

/**
 * Reads tokenizer.json, tokenizer_config.json and the chat template, and from generation_config.json and config.json
 * the end tokens. Special tokens are passed to the template as `bos_token`, `eos_token`, …; `templateVariables`
 * (such as `{ enable_thinking: false }`) too. Missing or damaged files: `bad_model`.
 */
export function loadTokenizer(directory: string, templateVariables: JsonObject = {}): Tokenizer {
  const tokenizerJson = readObject(directory, "tokenizer.json");
  const config = readOptionalObject(directory, "tokenizer_config.json");
  const inner = construct(directory, tokenizerJson, config);
  const vocabulary = inner.get_vocab(true);
  const added = new Set(inner.get_added_tokens_decoder().keys());
  const bytes = tokenBytesTable(tokenizerJson, vocabulary, added);
  const template = chatTemplate(directory, config, { ...specialTokens(config), ...templateVariables });
  const encode = (text: string): Int32Array => encodeWith(inner, directory, text);
  return {
    vocabularySize: bytes.length,
    endTokens: endTokensOf(directory, config, vocabulary),
    encode,
    decode: (tokens) => decodeWith(inner, config, tokens),
    parseReply: (tokens, truncated) => ({ text: decodeWith(inner, config, tokens), truncated }),
    tokenBytes: (id) => bytes[id] ?? new Uint8Array(),
    render: template,
    renderPrompt: (messages, addGenerationPrompt) => encode(template(messages, addGenerationPrompt)),
  };
}

function construct(directory: string, tokenizerJson: JsonObject, config: JsonObject): Library {
  try {
    // transformers treats these keys as absent when they are null; the library asks only that they are there.
    const defaults = {
      decoder: null,
      post_processor: null,
      pre_tokenizer: null,
      normalizer: null,
      added_tokens: [],
    };
    return new HuggingFaceTokenizer({ ...defaults, ...tokenizerJson }, config) as Library;
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new TroupeError("bad_model", `${directory}/tokenizer.json describes no usable tokenizer: ${why}`, {
      cause,
    });
  }
}

function encodeWith(inner: Library, directory: string, text: string): Int32Array {
  const { ids, tokens } = inner.encode(text, { add_special_tokens: false });
  const known = ids.filter((id) => id !== undefined);
  if (known.length === ids.length) return Int32Array.from(known);
  const unknown = ids.indexOf(undefined);
  const what = `has no token for ${JSON.stringify(tokens[unknown])} and no unknown token`;
  throw new TroupeError("bad_model", `${directory}/tokenizer.json ${what}; add unk_token`);
}

function decodeWith(inner: Library, config: JsonObject, tokens: Iterable<number>): string {
  const known = [...tokens].filter((id) => inner.id_to_token(id) !== undefined);
  if (known.length === 0) return "";
  const cleanUp = config["clean_up_tokenization_spaces"] === true;
  return inner.decode(known, { skip_special_tokens: true, clean_up_tokenization_spaces: cleanUp });
}

const specialNames = ["bos_token", "eos_token", "pad_token", "unk_token"] as const;

/** A special token is written as its text or as an object with `content`. */
function specialTokens(config: JsonObject): Record<string, string> {
  const found: Record<string, string> = {};
  for (const name of specialNames) {
    const value = config[name];
    const text = isObject(value) ? value["content"] : value;
    if (typeof text === "string") found[name] = text;
  }
  return found;
}

function endTokensOf(
  directory: string,
  config: JsonObject,
  vocabulary: ReadonlyMap<string, number>,
): readonly number[] {
  const eos = specialTokens(config)["eos_token"];
  const own = eos === undefined ? undefined : vocabulary.get(eos);
  const listed = ["generation_config.json", "config.json"].map(
    (file) => readOptionalObject(directory, file)["eos_token_id"],
  );
  return [...new Set([own, ...listed.flat()].filter((id) => typeof id === "number"))];
}
