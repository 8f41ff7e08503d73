/** A tiny random model, with which engines are checked. */
import { join } from "node:path";
import { writeWordTokenizer } from "../text/word-tokenizer.ts";
import { initModel } from "./init.ts";
import { presets, type Preset } from "./presets.ts";

export const tinyPreset: Preset = {
  ...presets.nano,
  hiddenSize: 32,
  headSize: 8,
  heads: 4,
  keyValueHeads: 2,
  intermediateSize: 48,
  maxLength: 64,
};

/** Six special tokens (ids 0 to 5), then these. */
export const words = ["up", "down", "left", "right", "goal", "wall", "start", "go"];
export const vocabularySize = 6 + words.length;

/** Creates the model `folder/name` with random weights large enough for non-uniform distributions. */
export async function makeModel(
  folder: string,
  name: string,
  options: { seed?: number; preset?: Preset } = {},
): Promise<string> {
  const tokenizer = join(folder, "tokenizer");
  writeWordTokenizer(tokenizer, words);
  const directory = join(folder, name);
  const { seed = 1, preset = tinyPreset } = options;
  await initModel({ directory, preset, tokenizer, seed, standardDeviation: 0.3 });
  return directory;
}
