/** A policy's weights for other programs: a whole model with its adapter merged into it, or the adapter alone. */
import { TroupeError } from "../errors.ts";
import { holdsAdapter } from "./adapter-base.ts";
import {
  checkAdapterConfig,
  openAdapterWeights,
  readAdapterOptions,
  writeAdapterFiles,
} from "./adapter-directory.ts";
import type { AdapterOptions } from "./adapter-options.ts";
import type { WeightFormat } from "./float-formats.ts";
import {
  checkHead,
  describeModel,
  modelTensors,
  openModelWeights,
  parametersOf,
  readTextFiles,
  writeModelFiles,
  writeTextFiles,
  type ModelDescription,
} from "./model-directory.ts";
import type { ModelShape } from "./model-config.ts";
import { copyBaseRecord } from "./model-digests.ts";
import type { TensorToWrite } from "./safetensors-write.ts";
import { readTensor, type SafetensorsFile, type TensorInfo } from "./safetensors.ts";
import type { Weights } from "./weights.ts";

/** Directories with a policy's parts. */
export interface PolicyFiles {
  /** A whole model's, or an adapter's. */
  readonly directory: string;
  /** The model below an adapter; of a whole model not read. */
  readonly base: string;
  /** With the tokenizer and the chat template. */
  readonly text: string;
}

export interface MergedModel {
  readonly model: ModelDescription;
  readonly tensors: readonly TensorToWrite[];
}

interface Adapter extends AdapterOptions {
  readonly tensors: readonly TensorInfo[];
  readonly weights: Weights;
}

/** Writes a model directory's files into an existing folder. @returns the number of parameters */
export async function writeMerged(folder: string, files: PolicyFiles, format: WeightFormat): Promise<number> {
  const { model, tensors } = await mergedModel(files);
  await writeModelFiles(folder, model, tensors, format);
  return parametersOf(tensors);
}

/** The whole model, of which an adapter is a part. Its tensors are read when they are written. */
export async function mergedModel({ directory, base, text }: PolicyFiles): Promise<MergedModel> {
  const isAdapter = holdsAdapter(directory);
  const whole = isAdapter ? base : directory;
  const model = { ...(await describeModel(whole)), textFiles: await readTextFiles(text) };
  checkHead(whole, model, false);
  const weights = await openModelWeights(whole, model.shape);
  const adapter = isAdapter ? await openAdapter(directory, base, model.shape) : null;
  const tensors = modelTensors(model.shape).map((tensor): TensorToWrite => {
    const values = async () =>
      finite(directory, tensor, await merge(tensor, await valuesOf(weights, tensor.name), adapter));
    return { ...tensor, values };
  });
  return { model, tensors };
}

/**
 * Writes an adapter directory's files into an existing folder. @returns the number of parameters
 * @param baseName how the adapter names its base
 * @throws TroupeError `bad_arguments` for a whole model
 */
export async function writeAdapter(
  folder: string,
  { directory, base, text }: PolicyFiles,
  baseName: string,
): Promise<number> {
  if (!holdsAdapter(directory)) {
    const problem = `${directory} is a whole model, so it has no adapter to write`;
    throw new TroupeError("bad_arguments", `${problem}; use \`--to merged\``);
  }
  const model = await describeModel(base);
  const adapter = await openAdapter(directory, base, model.shape);
  const tensors = adapter.tensors.map((tensor): TensorToWrite => {
    const values = async () => finite(directory, tensor, await valuesOf(adapter.weights, tensor.name));
    return { ...tensor, values };
  });
  await writeAdapterFiles(folder, baseName, adapter, false, tensors);
  await copyBaseRecord(directory, folder);
  await writeTextFiles(folder, await readTextFiles(text));
  return parametersOf(tensors);
}

async function openAdapter(directory: string, base: string, shape: ModelShape): Promise<Adapter> {
  const options = readAdapterOptions(directory);
  checkAdapterConfig(directory, options, false);
  const tensors = modelTensors(shape)
    .filter(({ name }) => isTarget(name, options))
    .flatMap(({ name, shape: [rows = 0, columns = 0] }): TensorInfo[] => [
      { name: matrixName(name, "A"), shape: [options.rank, columns] },
      { name: matrixName(name, "B"), shape: [rows, options.rank] },
    ]);
  return { ...options, tensors, weights: await openAdapterWeights(directory, base, tensors, false) };
}

function isTarget(weight: string, { targetModules }: AdapterOptions): boolean {
  return targetModules.some((module) => weight.endsWith(`.${module}.weight`));
}

/** As PEFT names the matrices of a projection. */
function matrixName(weight: string, matrix: "A" | "B"): string {
  return `base_model.model.${weight.replace(/weight$/, `lora_${matrix}.weight`)}`;
}

/** Other programs load such a model, and answer with nonsense. @throws TroupeError `bad_model` */
function finite(directory: string, { name }: TensorInfo, values: Float32Array): Float32Array {
  if (values.every(Number.isFinite)) return values;
  throw new TroupeError(
    "bad_model",
    `${directory}: the tensor ${name} has a value that is not finite, so every reply would be nonsense; export an earlier checkpoint`,
  );
}

/** Adds (alpha / rank)·B·A (LoRA, arXiv:2106.09685, eq. 3) to a projection's values; sums are in float64. */
async function merge(
  { name, shape: [rows = 0, columns = 0] }: TensorInfo,
  values: Float32Array,
  adapter: Adapter | null,
): Promise<Float32Array> {
  if (adapter === null || !isTarget(name, adapter)) return values;
  const { rank, alpha, weights } = adapter;
  const a = await valuesOf(weights, matrixName(name, "A"));
  const b = await valuesOf(weights, matrixName(name, "B"));
  const sums = new Float64Array(columns);
  for (let row = 0; row < rows; row++) {
    sums.fill(0);
    for (let k = 0; k < rank; k++) {
      const factor = (alpha / rank) * (b[row * rank + k] as number);
      for (let column = 0; column < columns; column++)
        sums[column] = (sums[column] as number) + factor * (a[k * columns + column] as number);
    }
    for (let column = 0; column < columns; column++) {
      const at = row * columns + column;
      values[at] = (values[at] as number) + (sums[column] as number);
    }
  }
  return values;
}

/** Of a tensor that was checked to be there. */
function valuesOf(weights: Weights, name: string): Promise<Float32Array> {
  return readTensor(weights.get(name) as SafetensorsFile, name);
}
