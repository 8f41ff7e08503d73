/**
 * The expensive part of a tokenizer: the vocabulary, encoding and decoding. Loaded once per directory; loaded again if
 * its files have changed.
 */
import { readFileSync, realpathSync, statSync } from "node:fs";
import { join } from "node:path";
import { TroupeError } from "../errors.ts";
import { decoderOf, type Decoder } from "./decoder.ts";
import { encoderOf, type Encoder } from "./encoder.ts";
import { readObject, readOptionalObject, type JsonObject } from "./files.ts";
import { openLibrary, type Library } from "./library.ts";
import { dataMarks, type DataMarks } from "./marks.ts";
import { patternGuard } from "./patterns.ts";
import { withoutSpelling } from "./spelling.ts";
import { tokenBytes, type TokenBytes } from "./token-bytes.ts";
import { checkKeys, readVocabulary, type Vocabulary } from "./vocabulary.ts";
import { bpeModel, isPlainBpe, libraryModel, type WordModel } from "./word-model.ts";

export interface Coder {
  readonly vocabulary: Vocabulary;
  /** tokenizer_config.json; empty if absent. */
  readonly config: JsonObject;
  readonly encode: Encoder;
  readonly decode: Decoder;
  readonly bytes: TokenBytes;
  readonly marks: DataMarks;
}

const files = ["tokenizer.json", "tokenizer_config.json"] as const;
/** Held weakly: an unused tokenizer is freed. */
const coders = new Map<string, { readonly version: string; readonly coder: WeakRef<Coder> }>();

/** The coder of a model directory. @throws TroupeError `bad_model` for missing or damaged files */
export function loadCoder(directory: string): Coder {
  const [place, version] = versionOf(directory);
  const known = coders.get(place);
  const shared = known?.version === version ? known.coder.deref() : undefined;
  if (shared !== undefined) return shared;
  const coder = readCoder(directory);
  coders.set(place, { version, coder: new WeakRef(coder) });
  return coder;
}

/** The directory's real path, and a value that changes whenever one of its files is written. */
function versionOf(directory: string): [place: string, version: string] {
  const versions = files.map((name) => {
    const stat = statSync(join(directory, name), { bigint: true, throwIfNoEntry: false });
    return stat === undefined ? "absent" : [stat.ino, stat.size, stat.mtimeNs, stat.ctimeNs].join(" ");
  });
  return [versions[0] === "absent" ? directory : realpathSync(directory), versions.join(", ")];
}

function readCoder(directory: string): Coder {
  const tokenizerJson = readObject(directory, files[0]);
  const config = readOptionalObject(directory, files[1]);
  const file = join(directory, files[0]);
  const guarded = patternGuard(tokenizerJson, file);
  try {
    checkKeys(readFileSync(file, "utf8"));
    const vocabulary = readVocabulary(tokenizerJson);
    const { library, model } = openModel(tokenizerJson, config, vocabulary, file);
    const bytes = tokenBytes(tokenizerJson, vocabulary);
    return {
      vocabulary,
      config,
      encode: tried(guarded(encoderOf(vocabulary, library, model))),
      decode: guarded(decoderOf(vocabulary, bytes, library, tokenizerJson, config)),
      bytes,
      marks: dataMarks(vocabulary.control.map(({ content }) => content)),
    };
  } catch (cause) {
    if (cause instanceof TroupeError) throw cause;
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new TroupeError("bad_model", `${file} is not a usable tokenizer: ${why}`, { cause });
  }
}

/** The library finds out about some settings when it first uses them. */
function tried(encode: Encoder): Encoder {
  try {
    encode("a 1");
  } catch (error) {
    // Words that are not in the vocabulary: other text may be.
    if (!(error instanceof TroupeError)) throw error;
  }
  return encode;
}

function openModel(
  tokenizerJson: JsonObject,
  config: JsonObject,
  vocabulary: Vocabulary,
  file: string,
): { library: Library; model: WordModel } {
  const model = tokenizerJson["model"];
  if (!isPlainBpe(model)) {
    const library = openLibrary(tokenizerJson, config);
    return { library, model: libraryModel(library, vocabulary, file) };
  }
  // The library would build its own tables of entries and merges: it gets none, only the entries for decoding.
  const { preTokenizer, spell } = withoutSpelling(tokenizerJson["pre_tokenizer"]);
  const empty = { type: "BPE", vocab: {}, merges: [] };
  const library = openLibrary({ ...tokenizerJson, pre_tokenizer: preTokenizer, model: empty }, config);
  library.model.vocab = vocabulary.entries;
  return { library, model: bpeModel(model, vocabulary, spell) };
}
