/** The local engine's record of a policy, besides its weights in the native engine's memory. */
import { checkAdapterConfig, openAdapterWeights } from "../../models/adapter-directory.ts";
import type { AdapterOptions } from "../../models/adapter-options.ts";
import { checkSameShape } from "../../models/model-config.ts";
import {
  describeModel,
  openModelWeights,
  parametersOf,
  type ModelDescription,
} from "../../models/model-directory.ts";
import type { TensorInfo } from "../../models/safetensors.ts";
import type { Weights } from "../../models/weights.ts";
import type { PolicyInfo, PolicyName } from "../engine.ts";

/** A model in the engine's memory: a policy, or the base that adapters share. */
export interface LoadedModel {
  readonly name: string;
  readonly directory: string;
  readonly description: ModelDescription;
  readonly tensors: readonly TensorInfo[];
  users: number;
  /** Present once the engine has the vocabulary's bytes. */
  tokenBytes?: Promise<void>;
}

export interface Policy {
  readonly name: PolicyName;
  readonly model: LoadedModel;
  readonly adapter?: AdapterOptions;
  readonly critic: boolean;
  /** The trainable ones. */
  readonly tensors: readonly TensorInfo[];
  /** Files saved with the weights, by name: the tokenizer, the chat template. */
  readonly textFiles: ReadonlyMap<string, Uint8Array>;
  /** Optimizer steps of the weights. */
  version: number;
}

/** Opens the weights given to `restore`, whole model or adapter, and checks that they fit the policy. */
export async function openPolicyWeights(policy: Policy, directory: string): Promise<Weights> {
  if (policy.adapter === undefined) {
    const { shape } = await describeModel(directory);
    checkSameShape(directory, shape, policy.model.description.shape);
    return openModelWeights(directory, shape);
  }
  checkAdapterConfig(directory, policy.adapter, policy.critic);
  return openAdapterWeights(directory, policy.model.directory, policy.tensors, policy.critic);
}

export function policyInfo(policy: Policy): PolicyInfo {
  const trainableParameters = parametersOf(policy.tensors);
  const frozen = policy.adapter === undefined ? 0 : parametersOf(policy.model.tensors);
  return {
    name: policy.name,
    parameters: trainableParameters + frozen,
    trainableParameters,
    maxLength: policy.model.description.shape.maxLength,
    vocabularySize: policy.model.description.shape.vocabularySize,
  };
}
