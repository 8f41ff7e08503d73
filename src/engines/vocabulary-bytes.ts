/** What each token of a model's vocabulary writes. */
import { TroupeError } from "../errors.ts";
import { loadTokenizer } from "../text/tokenizer.ts";

/**
 * The bytes of each of the model's tokens, for stop strings. Ids beyond the tokenizer's own (a padded vocabulary) have
 * none. @throws TroupeError `unsupported` without a usable tokenizer in the directory
 */
export function vocabularyBytes(directory: string, size: number): { bytes: Uint8Array; lengths: Int32Array } {
  try {
    const { bytes, lengths } = loadTokenizer(directory).allTokenBytes();
    const padded = new Int32Array(size);
    padded.set(lengths.subarray(0, size));
    const used = padded.reduce((sum, length) => sum + length, 0);
    return { bytes: bytes.subarray(0, used), lengths: padded };
  } catch (cause) {
    const fix = "Put the model's tokenizer.json there, or use stopTokens";
    throw new TroupeError("unsupported", `Stop strings need the tokenizer of ${directory}. ${fix}.`, {
      cause,
    });
  }
}
