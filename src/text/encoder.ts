/**
 * Encodes text as token ids, in the order of the `tokenizers` library: added tokens, normaliser, words, ids of words.
 */
import type { PreTokenizer, Library } from "./library.ts";
import { escapeExpression, removeMarks } from "./marks.ts";
import type { AddedToken, Vocabulary } from "./vocabulary.ts";
import type { WordModel } from "./word-model.ts";

/** @param section its number among the sections between added tokens */
export type Words = (text: string, section: number) => string[];

/**
 * The library makes an array for each match of an expression, most of the garbage in encoding. Where matches cover the
 * text, as those of all published byte-level models do, they are its result.
 */
export function wordsOf(preTokenizer: PreTokenizer | null): Words {
  if (preTokenizer === null) return (text) => [text];
  const split: Words = (text, section) => preTokenizer(text, { section_index: section });
  const { pattern, config } = preTokenizer;
  const isPlain = config?.type === "Split" && config.invert !== true && config.behavior === "Isolated";
  if (!isPlain || !(pattern instanceof RegExp)) return split;
  return (text, section) => {
    const found = text.match(pattern) ?? [];
    return covers(found, text) ? found : split(text, section);
  };
}

function covers(words: readonly string[], text: string): boolean {
  let length = 0;
  for (const word of words) {
    if (word === "") return false;
    length += word.length;
  }
  return length === text.length;
}

/** Token ids of a marked text (marks.ts): control tokens are recognised unless a mark breaks them. */
export type Encoder = (marked: string) => Int32Array;

export function encoderOf(vocabulary: Vocabulary, library: Library, model: WordModel): Encoder {
  const { normalizer } = library;
  const split = wordsOf(library.pre_tokenizer);
  const control = new Set(vocabulary.control);
  // Markup is matched before normalisation: marks would not survive it, and templates spell markup exactly.
  const isLate = (token: AddedToken): boolean =>
    token.isNormalized && !control.has(token) && normalizer !== null;
  const early = splitter(
    vocabulary.added.filter((token) => !isLate(token)),
    (text) => text,
  );
  const late = splitter(vocabulary.added.filter(isLate), normalizer ?? ((text) => text));
  // Ids are appended to one list: arrays of their own for words and sections would make most of the garbage.
  const encodeSection = (section: string, index: number, ids: number[]): void => {
    const normal = normalizer === null ? section : normalizer(section);
    for (const piece of late(normal)) {
      if (typeof piece !== "string") ids.push(piece.id);
      else if (piece !== "") model(split(piece, index), ids);
    }
  };
  return (marked) => {
    const ids: number[] = [];
    for (const [index, piece] of early(marked).entries()) {
      if (typeof piece !== "string") ids.push(piece.id);
      else if (piece !== "") encodeSection(removeMarks(piece), index, ids);
    }
    return Int32Array.from(ids);
  };
}

type Split = (text: string) => (string | AddedToken)[];

/** Splits text at the first, longest tokens; tokens that strip absorb adjacent white space. */
function splitter(tokens: readonly AddedToken[], spelling: (content: string) => string): Split {
  const found = new Map(tokens.map((token) => [spelling(token.content), token]));
  found.delete("");
  if (found.size === 0) return (text) => [text];
  const longestFirst = [...found.keys()].toSorted((a, b) => b.length - a.length);
  const expression = new RegExp(`(${longestFirst.map(escapeExpression).join("|")})`);
  return (text) => {
    const pieces = text
      .split(expression)
      .map((piece, index) => (index % 2 === 1 && found.get(piece)) || piece);
    const texts = pieces.filter((piece) => piece !== "");
    return texts.map((piece, index) => (typeof piece === "string" ? stripped(piece, texts, index) : piece));
  };
}

function stripped(text: string, pieces: readonly (string | AddedToken)[], index: number): string {
  const [before, after] = [pieces[index - 1], pieces[index + 1]];
  const start = typeof before === "object" && before.stripsRight ? text.trimStart() : text;
  return typeof after === "object" && after.stripsLeft ? start.trimEnd() : start;
}
