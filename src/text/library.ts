/**
 * The parts of @huggingface/tokenizers used here. Its own declarations import without extensions, which Node's
 * resolution rejects.
 */
import { Tokenizer as HuggingFaceTokenizer } from "@huggingface/tokenizers";
import type { JsonObject } from "./files.ts";
import { checkRules } from "./rules.ts";

export interface PreTokenizer {
  (text: string, options: { section_index: number }): string[];
  /** Of a `Split`: with the flags "gu". */
  readonly pattern?: RegExp | null;
  readonly config?: { readonly type?: string; readonly invert?: boolean; readonly behavior?: string };
}

export interface Library {
  readonly normalizer: ((text: string) => string) | null;
  readonly pre_tokenizer: PreTokenizer | null;
  readonly model: {
    (words: string[]): string[];
    vocab: readonly (string | undefined)[];
    readonly tokens_to_ids: ReadonlyMap<string, number>;
    readonly unk_token_id: number | undefined;
  };
  encode(text: string): { readonly ids: number[] };
  /** Texts omitted by decoding. */
  readonly special_tokens: readonly string[];
  decode(
    ids: number[],
    options: { skip_special_tokens: boolean; clean_up_tokenization_spaces: boolean },
  ): string;
}

/** @throws Error if the library does not support the tokenizer */
export function openLibrary(tokenizerJson: JsonObject, config: JsonObject): Library {
  // transformers treats these keys as absent if they are null; the library only checks that they exist.
  const defaults = {
    decoder: null,
    post_processor: null,
    pre_tokenizer: null,
    normalizer: null,
    added_tokens: [],
  };
  checkRules(tokenizerJson);
  return new HuggingFaceTokenizer({ ...defaults, ...tokenizerJson }, config);
}
