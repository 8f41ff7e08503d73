/**
 * The bytes that each vocabulary entry stands for, so that an engine can look for stop strings while it samples
 * without decoding everything again. How an entry is written depends on the tokenizer's decoder.
 */
import { isObject, type JsonObject } from "./files.ts";

type Spelling = (entry: string) => Uint8Array;

const utf8 = (text: string): Uint8Array => new TextEncoder().encode(text);

/**
 * One array per token id. An id without an entry is empty; an added token stands for its own text.
 * Word-level entries carry the space that decoding puts before them.
 */
export function tokenBytesTable(
  tokenizerJson: JsonObject,
  vocabulary: ReadonlyMap<string, number>,
  addedIds: ReadonlySet<number>,
): readonly Uint8Array[] {
  const spell = spellingOf(tokenizerJson["decoder"]);
  const size = Math.max(-1, ...vocabulary.values()) + 1;
  const table = Array.from({ length: size }, () => new Uint8Array());
  for (const [entry, id] of vocabulary)
    table[id] = Uint8Array.from(addedIds.has(id) ? utf8(entry) : spell(entry));
  return table;
}

function spellingOf(decoder: unknown): Spelling {
  const kinds = decoderKinds(decoder);
  const wordPiece = kinds.find((kind) => kind["type"] === "WordPiece");
  if (kinds.some((kind) => kind["type"] === "ByteLevel")) return byteLevel;
  if (wordPiece !== undefined) return (entry) => pieceOfWord(entry, wordPiece["prefix"]);
  if (kinds.some((kind) => ["Metaspace", "ByteFallback", "Replace"].includes(String(kind["type"])))) {
    return metaspace;
  }
  return (entry) => utf8(` ${entry}`);
}

function decoderKinds(decoder: unknown): readonly JsonObject[] {
  if (!isObject(decoder)) return [];
  const inner = decoder["decoders"];
  return Array.isArray(inner) ? inner.flatMap(decoderKinds) : [decoder];
}

/** GPT-2's alphabet: a printable character for each byte (openai/gpt-2, `bytes_to_unicode`). */
const bytesOfCharacters: ReadonlyMap<string, number> = byteAlphabet();

function byteAlphabet(): Map<string, number> {
  const alphabet = new Map<string, number>();
  let next = 256;
  for (let byte = 0; byte < 256; byte++) {
    alphabet.set(String.fromCharCode(isPrintable(byte) ? byte : next++), byte);
  }
  return alphabet;
}

function isPrintable(byte: number): boolean {
  return (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || (byte >= 174 && byte <= 255);
}

function byteLevel(entry: string): Uint8Array {
  const parts = Array.from(entry, (character) => {
    const byte = bytesOfCharacters.get(character);
    return byte === undefined ? [...utf8(character)] : [byte];
  });
  return Uint8Array.from(parts.flat());
}

function metaspace(entry: string): Uint8Array {
  const byte = /^<0x([0-9A-Fa-f]{2})>$/.exec(entry)?.[1];
  return byte === undefined ? utf8(entry.replaceAll("▁", " ")) : Uint8Array.of(Number.parseInt(byte, 16));
}

function pieceOfWord(entry: string, given: unknown): Uint8Array {
  const prefix = typeof given === "string" ? given : "##";
  return utf8(entry.startsWith(prefix) ? entry.slice(prefix.length) : ` ${entry}`);
}
