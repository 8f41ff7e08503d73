/** Splits text into the words that the model of a tokenizer encodes one by one. */
import type { PreTokenizer } from "./library.ts";

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
