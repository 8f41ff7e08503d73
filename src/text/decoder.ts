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

type TextOf = (ids: readonly number[], shown: ReadonlySet<number> | undefined) => string;

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
  const cleanUp = config["clean_up_tokenization_spaces"] === true;
  const decoder = tokenizerJson["decoder"];
  const isByteLevel = isObject(decoder) && decoder["type"] === "ByteLevel" && !cleanUp;
  const textOf = isByteLevel ? fromBytes(vocabulary, bytes) : fromLibrary(library, cleanUp);
  return (tokens, shown) => {
    const ids: number[] = [];
    for (const id of tokens) {
      if (entries[id] !== undefined && (!special.has(id) || shown?.has(id) === true)) ids.push(id);
    }
    return ids.length === 0 ? "" : textOf(ids, shown);
  };
}

function fromLibrary(library: Library, cleanUp: boolean): TextOf {
  return (ids, shown) =>
    library.decode([...ids], {
      skip_special_tokens: shown === undefined,
      clean_up_tokenization_spaces: cleanUp,
    });
}

/** An added token is text of its own: bytes before and after it make no character together. */
function fromBytes({ added, entries }: Vocabulary, table: TokenBytes): TextOf {
  const whole = new Set(added.map(({ id }) => id));
  const utf8 = new TextDecoder("utf-8", { ignoreBOM: true });
  return (ids) => {
    let text = "";
    let run: number[] = [];
    for (const id of ids) {
      if (!whole.has(id)) {
        run.push(id);
        continue;
      }
      text += utf8.decode(table.join(run)) + (entries[id] ?? "");
      run = [];
    }
    return text + utf8.decode(table.join(run));
  };
}
