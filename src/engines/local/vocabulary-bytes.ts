import { TroupeError } from "../../errors.ts";
import { loadTokenizer } from "../../text/tokenizer.ts";

/**
 * The bytes of each of the model's tokens, for stop strings. Ids beyond the tokenizer's own (a padded vocabulary) stand
 * for nothing. Without a usable tokenizer in the directory: `unsupported`.
 */
export function vocabularyBytes(directory: string, size: number): { bytes: Uint8Array; lengths: Int32Array } {
  try {
    const tokenizer = loadTokenizer(directory);
    const entries = Array.from({ length: size }, (_, id) => tokenizer.tokenBytes(id));
    return { bytes: Buffer.concat(entries), lengths: Int32Array.from(entries, (entry) => entry.length) };
  } catch (cause) {
    const fix = "Put the model's tokenizer.json there, or use stopTokens";
    throw new TroupeError("unsupported", `Stop strings need the tokenizer of ${directory}. ${fix}.`, {
      cause,
    });
  }
}
