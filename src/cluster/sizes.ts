/** How large a recipe's policies are: from model directories, or published shapes if those are not here. */
import { readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { isPresentSync } from "../present.ts";
import { readModelShape, type ModelShape } from "../models/model-config.ts";
import { adapterParameters, modelTensors, parametersOf } from "../models/model-directory.ts";
import type { Recipe } from "../recipes/schema.ts";
import type { JsonObject } from "../text/files.ts";
import { publishedModels } from "./published.ts";

export interface PlannedPolicy {
  readonly name: string;
  /** The model's name at the hub or its directory's. */
  readonly model: string;
  /** As the recipe names it. */
  readonly directory: string;
  /** Of the model, without the adapter. */
  readonly parameters: number;
  /** Of the adapter; otherwise all. */
  readonly trainable: number;
  readonly adapter: Recipe["policies"][string]["adapter"];
  readonly shape: ModelShape;
  /** Whether the model's directory is here. */
  readonly isHere: boolean;
}

/** Null: neither a directory nor a published model. */
export function plannedPolicy(name: string, policy: Recipe["policies"][string]): PlannedPolicy | null {
  if (!("path" in policy.model)) return null;
  const directory = policy.model.path;
  const file = join(directory, "config.json");
  const isHere = isPresentSync(file);
  const model = basename(directory);
  const config = isHere ? (JSON.parse(readFileSync(file, "utf8")) as JsonObject) : publishedModels[model];
  if (config === undefined) return null;
  const shape = readModelShape(isHere ? file : model, config);
  const tensors = modelTensors(shape);
  const parameters = parametersOf(tensors);
  const { adapter } = policy;
  const trainable = adapter === undefined ? parameters : adapterParameters(tensors, adapter);
  return { name, model, directory, parameters, trainable, adapter, shape, isHere };
}

/** Bytes of keys and values that a server keeps per token, in bfloat16. */
export function cacheBytes({ layers, keyValueHeads, headSize }: ModelShape): number {
  return 2 * 2 * layers * keyValueHeads * headSize;
}
