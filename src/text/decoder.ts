/**
 * Token ids as text. Byte-level vocabularies are decoded from a table of bytes, since the library searches all added
 * tokens for each id; any other decoder is the library's.
 */
import { isObject, type JsonObject } from "./files.ts";
import type { Library } from "./library.ts";
import type { TokenBytes } from "./token-bytes.ts";
import type { Vocabulary } from "./vocabulary.ts";

/** The text without special tokens, except those in `shown`, and without ids that have no entry. Never throws. */
export type Decoder = (tokens: Iterable<number>, shown?: ReadonlySet<number>) => string;

export function decoderOf(
  vocabulary: Vocabulary,
  bytes: TokenBytes,
  library: Library,
  tokenizerJson: JsonObject,
  config: JsonObject,
): Decoder {
  const { entries } = vocabulary;
  const names = new Set<string | undefined>(library.special_tokens);
  const special = new Set(entries.flatMap((entry, id) => (names.has(entry) ? [id] : [])));
  const isText: IsText = (id, shown) =>
    entries[id] !== undefined && (!special.has(id) || shown?.has(id) === true);
  const cleanUp = config["clean_up_tokenization_spaces"] === true;
  const decoder = tokenizerJson["decoder"];
  const isByteLevel = isObject(decoder) && decoder["type"] === "ByteLevel" && !cleanUp;
  return isByteLevel ? fromBytes(vocabulary, bytes, isText) : fromLibrary(library, isText, cleanUp);
}

type IsText = (id: number, shown: ReadonlySet<number> | undefined) => boolean;

function fromLibrary(library: Library, isText: IsText, cleanUp: boolean): Decoder {
  return (tokens, shown) => {
    const ids = Array.from(tokens).filter((id) => isText(id, shown));
    if (ids.length === 0) return "";
    return library.decode(ids, {
      skip_special_tokens: shown === undefined,
      clean_up_tokenization_spaces: cleanUp,
    });
  };
}

/** An added token is text of its own: bytes before and after it make no character together. */
function fromBytes({ added, entries }: Vocabulary, table: TokenBytes, isText: IsText): Decoder {
  const whole = new Set(added.map(({ id }) => id));
  const utf8 = new TextDecoder("utf-8", { ignoreBOM: true });
  return (tokens, shown) => {
    const run = table.writer();
    let text = "";
    for (const id of tokens) {
      if (!isText(id, shown)) continue;
      if (whole.has(id)) text += utf8.decode(run.take()) + (entries[id] ?? "");
      else run.write(id);
    }
    return text + utf8.decode(run.take());
  };
}
