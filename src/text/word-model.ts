/** Encodes words, as separated by the pre-tokenizer. */
import { Bpe } from "./bpe.ts";
import { isObject, type JsonObject } from "./files.ts";
import type { Library } from "./library.ts";
import { idOfEntry, type Vocabulary } from "./vocabulary.ts";
import { TroupeError } from "../errors.ts";

/** Appends the words' ids, never that of a control token except the unknown token. */
export type WordModel = (words: string[], ids: number[]) => void;

/** Whether bpe.ts supports the model of a tokenizer.json; the library's own needs three times the memory. */
export function isPlainBpe(model: unknown): model is JsonObject {
  if (!isObject(model) || model["type"] !== "BPE" || !isObject(model["vocab"])) return false;
  const affixes = ["continuing_subword_prefix", "end_of_word_suffix"].map((name) => model[name]);
  return (
    Array.isArray(model["merges"]) &&
    affixes.every((affix) => affix === undefined || affix === null || affix === "")
  );
}

/** @param spell how entries spell a word, if the pre-tokenizer has not done it */
export function bpeModel(
  model: JsonObject,
  vocabulary: Vocabulary,
  spell?: (word: string) => string,
): WordModel {
  const markup = new Set(vocabulary.control.map(({ content }) => content));
  const bpe = new Bpe(
    {
      ids: vocabulary.ids,
      merges: model["merges"] as (string | string[])[],
      unknown: idOfEntry(vocabulary, model["unk_token"]),
      fuseUnknown: model["fuse_unk"] === true,
      byteFallback: model["byte_fallback"] === true,
      ignoreMerges: model["ignore_merges"] === true,
      spell,
    },
    (entry) => markup.has(entry),
  );
  return (words, ids) => {
    for (const word of words) for (const id of bpe.encode(word)) ids.push(id);
  };
}

/**
 * Word-level, WordPiece and Unigram models. They look up whole words, so one spelled like markup is an unknown word. A
 * word without a token, if there is no unknown token, is a `bad_model` error that names `file`.
 */
export function libraryModel(library: Library, vocabulary: Vocabulary, file: string): WordModel {
  const { model } = library;
  const markup = new Set(vocabulary.control.map(({ id }) => id));
  const idOf = (token: string): number => {
    const id = model.tokens_to_ids.get(token);
    const known = id === undefined || markup.has(id) ? model.unk_token_id : id;
    if (known !== undefined) return known;
    const problem = `has no token for ${JSON.stringify(token)} and no unknown token`;
    throw new TroupeError("bad_model", `${file} ${problem}; add unk_token`);
  };
  return (words, ids) => {
    for (const token of model(words)) ids.push(idOf(token));
  };
}
