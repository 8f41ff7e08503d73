/** Shared by the tests of models and engines: a temporary folder, a tiny random model in it, expected failures. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { TroupeError, type ErrorCode } from "../errors.ts";
import { generatorOf, keyAt, rootKey } from "../random.ts";
import { readObject, type JsonObject } from "../text/files.ts";
import { initModel } from "./init.ts";
import { describeModel, modelTensors } from "./model-directory.ts";
import type { Preset } from "./presets.ts";
import { openSafetensors, readTensor } from "./safetensors.ts";
import { writeSafetensors } from "./safetensors-write.ts";
import { fillNormal } from "./spelled-embeddings.ts";

/** Random weights, of which norms and biases matter as well, in a model with the given settings and tokenizer. */
export async function makeVariedModel(
  directory: string,
  preset: Preset,
  tokenizer: string,
  settings: JsonObject = {},
): Promise<string> {
  await initModel({ directory, preset, tokenizer, seed: 1 });
  const config = { ...readObject(directory, "config.json"), ...settings };
  writeFileSync(join(directory, "config.json"), JSON.stringify(config));
  const { shape } = await describeModel(directory);
  const tensors = modelTensors(shape).map((tensor) => {
    const size = tensor.shape.reduce((product, count) => product * count, 1);
    const generator = generatorOf(keyAt(rootKey(2), tensor.name));
    const isNorm = tensor.name.endsWith("norm.weight");
    const values = () => fillNormal(new Float32Array(size), generator, isNorm || size < 1000 ? 0.3 : 0.12);
    return { ...tensor, values: () => (isNorm ? values().map((value) => 1 + value) : values()) };
  });
  await writeSafetensors(join(directory, "model.safetensors"), tensors);
  return directory;
}

export { temporaryFolder } from "../test-end.ts";
export { makeModel, tinyPreset, vocabularySize, words } from "./tiny-model.ts";

/** Every tensor of a safetensors file. */
export async function tensorsOf(file: string): Promise<Record<string, Float32Array>> {
  const opened = await openSafetensors(file);
  const entries = await Promise.all(
    [...opened.tensors.keys()].map(async (name) => [name, await readTensor(opened, name)]),
  );
  return Object.fromEntries(entries);
}

/** Runs `work`, which must fail with a TroupeError of the code, and returns its message. */
export async function failure(code: ErrorCode, work: () => unknown): Promise<string> {
  try {
    await work();
  } catch (error) {
    expect(error).toBeInstanceOf(TroupeError);
    expect((error as TroupeError).code).toBe(code);
    return (error as TroupeError).message;
  }
  return expect.unreachable(`expected a ${code}`);
}
