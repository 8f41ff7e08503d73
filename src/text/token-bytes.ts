/**
 * The bytes of each vocabulary entry, so that an engine can look for stop strings while sampling without decoding
 * everything again. How an entry is written depends on the tokenizer's decoder.
 */
import { isObject, type JsonObject } from "./files.ts";
import { bytesOfCharacters } from "./spelling.ts";
import type { Vocabulary } from "./vocabulary.ts";

/** The bytes of an entry as a string of characters below 256. */
type Spelling = (entry: string) => string;

const utf8 = (text: string): string => Buffer.from(text).toString("latin1");

export interface TokenBytes {
  /** Empty for an id without an entry. The bytes of an added token are its text. */
  readonly of: (id: number) => Uint8Array;
  /** The same without a copy, from the table of all ids: for many ids. */
  readonly slice: (id: number) => Uint8Array;
  /** The concatenated bytes of all ids, and their lengths. Computed on first use. */
  readonly all: () => { readonly bytes: Uint8Array; readonly lengths: Int32Array };
}

/** Word-level entries include the space that decoding puts before them. */
export function tokenBytes(tokenizerJson: JsonObject, { entries, added }: Vocabulary): TokenBytes {
  const spellEntry = spellingOf(tokenizerJson["decoder"]);
  const addedIds = new Set(added.map(({ id }) => id));
  const spell = (id: number): string => {
    const entry = entries[id];
    if (entry === undefined) return "";
    return addedIds.has(id) ? utf8(entry) : spellEntry(entry);
  };
  let table: ReturnType<TokenBytes["all"]> | undefined;
  const makeTable = (): ReturnType<TokenBytes["all"]> => {
    const spelled = Array.from(entries, (_, id) => spell(id));
    const lengths = Int32Array.from(spelled, (bytes) => bytes.length);
    return { bytes: Buffer.from(spelled.join(""), "latin1"), lengths };
  };
  const all = (): ReturnType<TokenBytes["all"]> => (table ??= makeTable());
  let starts: Int32Array | undefined;
  const slice = (id: number): Uint8Array => {
    const { bytes, lengths } = all();
    starts ??= startsOf(lengths);
    return bytes.subarray(starts[id], starts[id + 1]);
  };
  return { of: (id) => Uint8Array.from(Buffer.from(spell(id), "latin1")), slice, all };
}

/** Where each length begins, and the end. */
function startsOf(lengths: Int32Array): Int32Array {
  const starts = new Int32Array(lengths.length + 1);
  for (let id = 0; id < lengths.length; id++) starts[id + 1] = (starts[id] ?? 0) + (lengths[id] ?? 0);
  return starts;
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

function byteLevel(entry: string): string {
  let bytes = "";
  for (const character of entry) bytes += bytesOfCharacters.get(character) ?? utf8(character);
  return bytes;
}

function metaspace(entry: string): string {
  const byte = /^<0x([0-9A-Fa-f]{2})>$/.exec(entry)?.[1];
  return byte === undefined
    ? utf8(entry.replaceAll("▁", " "))
    : String.fromCharCode(Number.parseInt(byte, 16));
}

function pieceOfWord(entry: string, given: unknown): string {
  const prefix = typeof given === "string" ? given : "##";
  return utf8(entry.startsWith(prefix) ? entry.slice(prefix.length) : ` ${entry}`);
}
