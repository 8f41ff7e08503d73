/** Policies in the native engine's memory: how they are loaded, copied, filled and removed. */
import { hash } from "node:crypto";
import { realpath } from "node:fs/promises";
import { totalmem } from "node:os";
import { TroupeError } from "../../errors.ts";
import { baseOf, holdsAdapter, holdsText } from "../../models/adapter-base.ts";
import {
  checkAdapterConfig,
  openAdapterWeights,
  initialAdapterTensor,
} from "../../models/adapter-directory.ts";
import { modulesOf, type AdapterOptions } from "../../models/adapter-options.ts";
import { bytesPerWeight } from "../../models/float-formats.ts";
import { checkSameShape } from "../../models/model-config.ts";
import { checkRecordedBase, modelVersion } from "../../models/model-digests.ts";
import {
  describeModel,
  openModelWeights,
  parametersOf,
  asCritic,
  checkHead,
  modelTensors,
  readTextFiles,
  type ModelDescription,
} from "../../models/model-directory.ts";
import type { TensorInfo } from "../../models/safetensors.ts";
import { tensorsInFiles, type TensorInFile, type Weights } from "../../models/weights.ts";
import type { PolicyInfo, PolicyName, PolicyOptions } from "../engine.ts";
import type { Jobs, StartJob } from "./native.ts";
import { making, type Making } from "../saved.ts";

/** A model in the engine's memory: a policy, or the base that adapters share. */
export interface LoadedModel {
  readonly name: string;
  readonly directory: string;
  readonly description: ModelDescription;
  readonly tensors: readonly TensorInfo[];
  /** Of its files (models/model-digests.ts). */
  readonly version: string;
  users: number;
  /** Present once the engine has the vocabulary's bytes. */
  tokenBytes?: Promise<void>;
}

type Unversioned = Omit<LoadedModel, "version">;

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
  /** Why its weights are incomplete: a `restore` failed. Absent: they are complete. */
  spoilt?: string;
}

/** Opens the weights given to `restore`, whole model or adapter, and checks that they fit the policy. */
export async function openPolicyWeights(policy: Policy, directory: string): Promise<Weights> {
  if (policy.adapter === undefined) {
    const { shape } = await describeModel(directory);
    checkSameShape(directory, shape, policy.model.description.shape);
    return openModelWeights(directory, shape);
  }
  checkAdapterConfig(directory, policy.adapter, policy.critic);
  await checkRecordedBase(directory, policy.model);
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

/**
 * Loads policies into the native engine's memory: whole models, and adapters, which share one base per model directory.
 * A failure leaves nothing behind. Its verbs must be called one after the other, as policies of any name share bases.
 */
export class Loader {
  readonly #jobs: Jobs;
  /** Bases of adapters, by their directory's real path and its version. */
  readonly #bases = new Map<string, LoadedModel>();

  constructor(jobs: Jobs) {
    this.#jobs = jobs;
  }

  /** Loads the policy into the engine's memory. */
  open(options: PolicyOptions): Promise<Policy> {
    const made = making(options);
    return made.adapter === null ? this.#wholeModel(made) : this.#adapter({ ...made, adapter: made.adapter });
  }

  /** The policy's weights under another name, on the same base if it is an adapter, without optimizer state. */
  async copy(policy: Policy, name: string): Promise<Policy> {
    const { model, adapter } = policy;
    if (adapter === undefined) {
      const copied = await this.#copyTensors(policy, name, (native, job) =>
        native.addModel(job, name, model.description.shape),
      );
      // Without `tokenBytes`: the engine has them of the model, not of its copy.
      const { directory, description, version } = model;
      return { ...policy, name, model: { name, directory, description, version, tensors: copied, users: 0 } };
    }
    const tensors = await this.#copyTensors(policy, name, (native, job) =>
      native.addAdapter(job, name, model.name, { ...adapter, valueHead: policy.critic }),
    );
    model.users++;
    return { ...policy, name, tensors };
  }

  /** Removes it, and its base if no other adapter uses it. */
  async remove({ name, adapter, model }: Policy): Promise<void> {
    await this.#remove(name);
    if (adapter !== undefined) await this.#releaseBase(model);
  }

  /** Replaces weights in the engine's memory by the opened ones. */
  async fill(name: string, tensors: readonly TensorInfo[], weights: Weights): Promise<void> {
    const stored = tensorsInFiles(weights, tensors);
    await this.#jobs.run((native, job) => native.loadTensors(job, name, stored));
  }

  /** The native engine is closed, and its memory is freed. */
  forget(): void {
    this.#bases.clear();
  }

  async #copyTensors(
    { name: from, tensors }: Policy,
    name: string,
    add: StartJob<readonly TensorInfo[]>,
  ): Promise<readonly TensorInfo[]> {
    const added = await this.#jobs.run(add);
    await this.#orRemove(name, async () => {
      for (const { name: tensor } of tensors) {
        const values = await this.#jobs.run((native, job) => native.readTensor(job, from, "weight", tensor));
        await this.#write(name, tensor, values);
      }
    });
    return added;
  }

  async #wholeModel({ name, directory, valueHead, version }: Making): Promise<Policy> {
    const model = await this.#whileUnchanged(directory, async () => {
      const stored = await describeModel(directory);
      checkHead(directory, stored, valueHead);
      return this.#loadModel(name, directory, stored, valueHead ? asCritic(stored) : stored);
    });
    const { tensors, description } = model;
    return { name, model, critic: valueHead, tensors, textFiles: description.textFiles, version };
  }

  async #adapter(made: Making & { readonly adapter: AdapterOptions }): Promise<Policy> {
    const { name, directory, valueHead, version } = made;
    const model = await this.#base(baseOf(made.model));
    try {
      const adapter = {
        ...made.adapter,
        targetModules: modulesOf(model.tensors, made.adapter.targetModules),
      };
      checkHead(model.directory, model.description, valueHead);
      const tensors = await this.#jobs.run((native, job) =>
        native.addAdapter(job, name, model.name, { ...adapter, valueHead }),
      );
      await this.#orRemove(name, () => this.#startAdapter({ ...made, adapter }, model, tensors));
      const own = holdsText(directory) ? await readTextFiles(directory) : model.description.textFiles;
      return { name, model, adapter, critic: valueHead, tensors, textFiles: own, version };
    } catch (error) {
      await this.#releaseBase(model);
      throw error;
    }
  }

  /** The adapter's tensors in the directory, and fresh ones for the rest. */
  async #startAdapter(
    { name, directory, adapter }: Making & { readonly adapter: AdapterOptions },
    base: LoadedModel,
    tensors: readonly TensorInfo[],
  ): Promise<void> {
    if (holdsAdapter(directory)) await checkRecordedBase(directory, base);
    const stored: Weights = holdsAdapter(directory)
      ? await openAdapterWeights(directory, base.directory, tensors, checkAdapterConfig(directory, adapter))
      : new Map();
    const isStored = ({ name: tensor }: TensorInfo) => stored.has(tensor);
    await this.fill(name, tensors.filter(isStored), stored);
    for (const tensor of tensors.filter((each) => !isStored(each))) {
      await this.#write(name, tensor.name, await this.#startOf(base, tensor, adapter.seed));
    }
  }

  /** An adapter critic on a critic starts with that critic's head. */
  #startOf(base: LoadedModel, tensor: TensorInfo, seed: number): Promise<Float32Array> | Float32Array {
    const head = base.tensors.find(({ name }) => tensor.name === `base_model.model.${name}`);
    if (head === undefined) return initialAdapterTensor(tensor, seed);
    return this.#jobs.run((native, job) => native.readTensor(job, base.name, "weight", head.name));
  }

  async #base(directory: string): Promise<LoadedModel> {
    const real = await realpath(directory).catch(() => directory);
    // Once its files are replaced, the directory contains another base than the one in memory.
    const place = `${real} ${hash("sha256", await modelVersion(real).catch(() => ""))}`;
    const load = () => this.#loadBase(`model ${place}`, directory);
    const base = this.#bases.get(place) ?? (await this.#whileUnchanged(directory, load));
    this.#bases.set(place, base);
    base.users++;
    return base;
  }

  async #releaseBase(base: LoadedModel): Promise<void> {
    base.users--;
    if (base.users > 0) return;
    for (const [place, model] of this.#bases) if (model === base) this.#bases.delete(place);
    await this.#remove(base.name);
  }

  async #loadBase(name: string, directory: string): Promise<Unversioned> {
    const description = await describeModel(directory);
    const weights = await openModelWeights(directory, description.shape);
    const files = tensorsInFiles(weights, modelTensors(description.shape));
    if (!files.every(canStayStored)) return this.#loadModel(name, directory, description, description);
    checkMemory(
      `The weights of ${directory}`,
      parametersOf(modelTensors(description.shape)) * bytesPerWeight.BF16,
    );
    const tensors = await this.#jobs.run((native, job) =>
      native.addFrozenModel(job, name, description.shape, files),
    );
    return { name, directory, description, tensors, users: 0 };
  }

  /** `stored` describes the directory, `description` the model to make of it: a different head stays zero. */
  async #loadModel(
    name: string,
    directory: string,
    stored: ModelDescription,
    description: ModelDescription,
  ): Promise<Unversioned> {
    const { shape } = description;
    const weights = await openModelWeights(directory, stored.shape);
    const bytes = parametersOf(modelTensors(shape)) * Float32Array.BYTES_PER_ELEMENT;
    checkMemory(`The weights of ${directory}`, bytes);
    const tensors = await this.#jobs.run((native, job) => native.addModel(job, name, shape));
    const present = tensors.filter((tensor) => weights.has(tensor.name));
    await this.#orRemove(name, () => this.fill(name, present, weights));
    return { name, directory, description, tensors, users: 0 };
  }

  /** Tensors are where the file's header said: if another file has come in between, its bytes have other meanings. */
  async #whileUnchanged(directory: string, load: () => Promise<Unversioned>): Promise<LoadedModel> {
    const before = await modelVersion(directory).catch(() => null);
    const model = await load();
    const version = await modelVersion(directory).catch(() => null);
    if (version !== null && version === before) return { ...model, version };
    await this.#remove(model.name).catch(() => undefined);
    throw new TroupeError("bad_model", `${directory} was changed while it was read; try again.`);
  }

  /** Leaves no incomplete policy behind. */
  async #orRemove(name: string, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      await this.#remove(name).catch(() => undefined);
      throw error;
    }
  }

  async #write(name: string, tensor: string, values: Float32Array): Promise<void> {
    await this.#jobs.run((native, job) => native.writeTensor(job, name, "weight", tensor, values));
  }

  async #remove(name: string): Promise<void> {
    await this.#jobs.run((native, job) => native.remove(job, name));
  }
}

/** Whether a frozen tensor can be as in its file: matrices in bfloat16; vectors are widened. */
function canStayStored({ name, format }: TensorInFile): boolean {
  return format === "BF16" || /(norm\.weight|bias|score\.weight)$/.test(name);
}

/** Rejects what cannot fit into this machine's (or container's) memory, before anything is allocated. */
export function checkMemory(what: string, bytes: number): void {
  const limit = Math.min(totalmem(), process.constrainedMemory() || Infinity);
  if (bytes <= limit) return;
  const sizes = `${gigabytes(bytes)} GB of memory; there is ${gigabytes(limit)} GB`;
  throw new TroupeError("no_memory", `${what} need ${bytes} bytes, ${sizes}. Use a smaller model.`);
}

function gigabytes(bytes: number): string {
  return (bytes / 2 ** 30).toFixed(1);
}
