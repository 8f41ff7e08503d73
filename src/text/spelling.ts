/**
 * GPT-2's alphabet: a printable character for each byte (openai/gpt-2, `bytes_to_unicode`). Byte-level vocabularies
 * spell their entries with it.
 */
import { isObject, type JsonObject } from "./files.ts";

/** The byte, as a character below 256, of each character of the alphabet. */
export const bytesOfCharacters: ReadonlyMap<string, string> = byteAlphabet();

const characters = [...bytesOfCharacters].toSorted(([, a], [, b]) => a.charCodeAt(0) - b.charCodeAt(0));
const charactersOfBytes = characters.map(([character]) => character);

function byteAlphabet(): Map<string, string> {
  const alphabet = new Map<string, string>();
  let next = 256;
  for (let byte = 0; byte < 256; byte++) {
    alphabet.set(String.fromCharCode(isPrintable(byte) ? byte : next++), String.fromCharCode(byte));
  }
  return alphabet;
}

function isPrintable(byte: number): boolean {
  return (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || (byte >= 174 && byte <= 255);
}

function spellBytes(word: string): string {
  let spelled = "";
  for (const byte of Buffer.from(word)) spelled += charactersOfBytes[byte] ?? "";
  return spelled;
}

interface PreTokenizer {
  readonly preTokenizer: unknown;
  readonly spell?: (word: string) => string;
}

/**
 * Takes the last step out of a pre-tokenizer if all it does is spell words in bytes, which a model that remembers words
 * need not repeat.
 */
export function withoutSpelling(preTokenizer: unknown): PreTokenizer {
  if (!isObject(preTokenizer) || preTokenizer["type"] !== "Sequence") return { preTokenizer };
  const steps: unknown = preTokenizer["pretokenizers"];
  if (!Array.isArray(steps) || !onlySpells(steps.at(-1))) return { preTokenizer };
  const kept = steps.slice(0, -1);
  const rest = kept.length === 1 ? kept[0] : { ...preTokenizer, pretokenizers: kept };
  return { preTokenizer: rest, spell: spellBytes };
}

function onlySpells(step: unknown): step is JsonObject {
  return (
    isObject(step) &&
    step["type"] === "ByteLevel" &&
    step["use_regex"] === false &&
    step["add_prefix_space"] !== true
  );
}
