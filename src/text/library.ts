/**
 * The parts of @huggingface/tokenizers used here. Its own declarations import without extensions, which Node's
 * resolution rejects.
 */
import { Tokenizer as HuggingFaceTokenizer } from "@huggingface/tokenizers";
import type { JsonObject } from "./files.ts";

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
  const growth = growthBy(tokenizerJson["normalizer"]);
  if (growth > mostGrowth)
    throw new Error(
      `its normalizer can make a text ${growth.toPrecision(2)} times as long; at most ${mostGrowth} is expected`,
    );
  return new HuggingFaceTokenizer({ ...defaults, ...tokenizerJson }, config);
}

/** Times; real ones replace a character by one to three. */
const mostGrowth = 100;

/** How many times as long the rules of a normaliser can make a text, one after the other: forty can double it each. */
function growthBy(normalizer: unknown): number {
  if (typeof normalizer !== "object" || normalizer === null) return 1;
  const { type, content = "", pattern, prepend = "", normalizers = [] } = normalizer as NormalizerJson;
  if (type === "Sequence") return normalizers.reduce<number>((product, one) => product * growthBy(one), 1);
  if (type === "Prepend") return 1 + prepend.length;
  if (type !== "Replace") return 1;
  const found = pattern?.String?.length ?? 0;
  // An expression may match nothing, between any two characters.
  return found === 0 ? 1 + content.length : Math.max(1, content.length / found);
}

interface NormalizerJson {
  readonly type?: string;
  readonly content?: string;
  readonly prepend?: string;
  readonly pattern?: { readonly String?: string };
  readonly normalizers?: readonly unknown[];
}
