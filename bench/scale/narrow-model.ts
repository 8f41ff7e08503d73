/** A model directory with Qwen's vocabulary, for recipes on a simulated engine. */
import fs from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { initModel } from "../../src/models/init.ts";
import type { Preset } from "../../src/models/presets.ts";
import { likeQwen3, writeLargeTokenizer } from "../../src/text/testing/large-tokenizer.ts";

/** Its weights are not used; only the vocabulary has its real size. */
const narrow: Preset = {
  architecture: "Qwen3ForCausalLM",
  hiddenSize: 16,
  layers: 1,
  heads: 1,
  keyValueHeads: 1,
  headSize: 16,
  intermediateSize: 16,
  maxLength: 8192,
  tiedEmbeddings: true,
};

/** Entries of its vocabulary. */
export const vocabularySize = likeQwen3.size;

/** Removes the folder afterwards. */
export async function withNarrowModel<T>(
  use: (place: { readonly folder: string; readonly model: string }) => Promise<T>,
): Promise<T> {
  const folder = await fs.mkdtemp(path.join(os.tmpdir(), "troupe-scale-"));
  const [model, tokenizer] = [path.join(folder, "model"), path.join(folder, "tokenizer")];
  try {
    writeLargeTokenizer(tokenizer, likeQwen3);
    await initModel({ directory: model, preset: narrow, tokenizer, seed: 1 });
    return await use({ folder, model });
  } finally {
    await fs.rm(folder, { recursive: true });
  }
}
