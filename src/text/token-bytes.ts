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

export interface ByteWriter {
  readonly write: (id: number) => void;
  /** What was written since the last call, valid until the next write. */
  readonly take: () => Uint8Array;
}

export interface TokenBytes {
  /** Empty for an id without an entry. The bytes of an added token are its text. */
  readonly of: (id: number) => Uint8Array;
  /** Collects the bytes of ids, one after the other. Starts empty; there is one for all texts. */
  readonly writer: () => ByteWriter;
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
  let writer: ByteWriter | undefined;
  return {
    of: (id) => Uint8Array.from(Buffer.from(spell(id), "latin1")),
    writer: () => {
      writer ??= byteWriter(all());
      writer.take();
      return writer;
    },
    all,
  };
}

/** Its memory is reused, because memory outside the heap is expensive. */
function byteWriter({ bytes, lengths }: ReturnType<TokenBytes["all"]>): ByteWriter {
  const starts = startsOf(lengths);
  let written = new Uint8Array(2 ** 14);
  let length = 0;
  const write = (id: number): void => {
    const last = starts[id + 1] ?? 0;
    const first = starts[id] ?? 0;
    if (length + last - first > written.length) written = grown(written, length + last - first);
    // Byte by byte: entries are too short for a copy of their own.
    for (let at = first; at < last; at++) written[length++] = bytes[at] as number;
  };
  const take = (): Uint8Array => {
    const taken = written.subarray(0, length);
    length = 0;
    return taken;
  };
  return { write, take };
}

function grown(bytes: Uint8Array, least: number): Uint8Array<ArrayBuffer> {
  const larger = new Uint8Array(2 * least);
  larger.set(bytes);
  return larger;
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
