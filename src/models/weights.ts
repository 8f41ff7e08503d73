/** The weights of a directory: one safetensors file, or shards with an index. */
import { basename, join } from "node:path";
import { TroupeError } from "../errors.ts";
import { isPresentSync } from "../present.ts";
import { isObject, readObject } from "../text/files.ts";
import type { WeightFormat } from "./float-formats.ts";
import { openSafetensors, weightFormat, type TensorInfo, type SafetensorsFile } from "./safetensors.ts";

/** The file of each tensor. */
export type Weights = ReadonlyMap<string, SafetensorsFile>;

/** Opens `<stem>.safetensors`, or the shards of `<stem>.safetensors.index.json`. */
export async function openWeights(directory: string, stem: string): Promise<Weights> {
  const index = `${stem}.safetensors.index.json`;
  const has = (name: string): boolean => isPresentSync(join(directory, name), "bad_model");
  if (!has(`${stem}.safetensors`)) {
    if (has(index)) return openShards(directory, index);
    throw noWeights(directory, stem, has);
  }
  const file = await openSafetensors(join(directory, `${stem}.safetensors`));
  return new Map(Array.from(file.tensors.keys(), (name) => [name, file]));
}

function noWeights(directory: string, stem: string, has: (name: string) => boolean): TroupeError {
  // As PyTorch writes them, and PEFT its adapters.
  const pickled = [`pytorch_${stem}.bin`, `pytorch_${stem}.bin.index.json`, `${stem}.bin`].find(has);
  const fix =
    pickled === undefined
      ? "fetch or copy them, too"
      : `convert ${pickled}: load it with transformers or PEFT and call \`save_pretrained\``;
  return new TroupeError(
    "bad_model",
    `${directory} has no ${stem}.safetensors; weights are expected in the safetensors format: ${fix}.`,
  );
}

async function openShards(directory: string, index: string): Promise<Weights> {
  const map = readObject(directory, index)["weight_map"];
  const places: [string, unknown][] = isObject(map) ? Object.entries(map) : [];
  const indexFile = join(directory, index);
  if (places.length === 0) throw new TroupeError("bad_model", `${indexFile} has no weight_map.`);
  const shards = new Map<unknown, SafetensorsFile>();
  const weights = new Map<string, SafetensorsFile>();
  for (const [tensor, shard] of places) {
    if (typeof shard !== "string" || basename(shard) !== shard) {
      throw new TroupeError(
        "bad_model",
        `${indexFile}: tensor ${tensor} must be in the same folder as the index.`,
      );
    }
    const file = shards.get(shard) ?? (await openSafetensors(join(directory, shard)));
    shards.set(shard, file);
    if (!file.tensors.has(tensor)) {
      throw new TroupeError("bad_model", `${file.path} has no tensor ${tensor}, which ${index} lists there.`);
    }
    weights.set(tensor, file);
  }
  return weights;
}

/**
 * Checks that the weights are exactly the expected ones, by name, shape and dtype. `ignorable` names may exist without
 * being used. @throws TroupeError `bad_model` with the file and the tensor
 */
export function checkWeights(
  directory: string,
  weights: Weights,
  expected: readonly TensorInfo[],
  ignorable: (name: string) => boolean,
): void {
  for (const { name, shape } of expected) checkTensor(directory, weights, name, shape);
  const known = new Set(expected.map((tensor) => tensor.name));
  for (const [name, file] of weights) {
    if (known.has(name) || ignorable(name)) continue;
    throw new TroupeError(
      "bad_model",
      `${file.path} has the tensor ${name}, which this model does not have.`,
    );
  }
}

function checkTensor(directory: string, weights: Weights, name: string, shape: readonly number[]): void {
  const file = weights.get(name);
  const found = file?.tensors.get(name);
  if (file === undefined || found === undefined) {
    throw new TroupeError("bad_model", `${directory} has no tensor ${name} of shape [${shape.join(", ")}].`);
  }
  weightFormat(file.path, found);
  if (found.shape.join() !== shape.join()) {
    const shapes = `has the shape [${found.shape.join(", ")}]; expected [${shape.join(", ")}]`;
    throw new TroupeError("bad_model", `${file.path}: tensor ${name} ${shapes}.`);
  }
}

/** Where a tensor is in a file; a native engine reads it. */
export interface TensorInFile {
  readonly name: string;
  readonly path: string;
  /** Its first byte. */
  readonly begin: number;
  readonly format: WeightFormat;
}

/** @throws TroupeError `bad_model` */
export function tensorsInFiles(weights: Weights, expected: readonly TensorInfo[]): TensorInFile[] {
  return expected.map(({ name }) => {
    const file = weights.get(name);
    const stored = file?.tensors.get(name);
    if (file === undefined || stored === undefined)
      throw new TroupeError("bad_model", `There is no tensor ${name} in these weights.`);
    return { name, path: file.path, begin: stored.begin, format: weightFormat(file.path, stored) };
  });
}
