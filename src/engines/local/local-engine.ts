/** The verbs, computed in this process by the native engine, on threads of its own. */
import { realpath } from "node:fs/promises";
import { TroupeError } from "../../errors.ts";
import type {
  AdamOptions,
  AdapterOptions,
  Cancellable,
  Datum,
  Engine,
  Loss,
  LossResult,
  PolicyInfo,
  PolicyName,
  PolicyOptions,
  SampledSequence,
  SampleRequest,
} from "../engine.ts";
import { adapterMarker, checkAdapterOptions } from "./adapter-directory.ts";
import { initialAdapterTensor, writeAdapterFiles } from "./adapter-directory.ts";
import { flatten } from "./batch.ts";
import type { WeightFormat } from "./float-formats.ts";
import { localCapabilities } from "./capabilities.ts";
import { Jobs, type StartJob } from "./jobs.ts";
import { lossResult } from "./loss-result.ts";
import { checkMemory } from "./memory.ts";
import { asCritic, checkHead, describeModel, modelTensors, openModelWeights } from "./model-directory.ts";
import { parametersOf, writeModelFiles, type ModelDescription } from "./model-directory.ts";
import { nativeBuild, startNativeEngine, type FlatBatch, type NativeLossResult } from "./native.ts";
import type { Precision, TensorInfo, TensorKind } from "./native.ts";
import { openOptimizerFile, writeOptimizerFile } from "./optimizer-state.ts";
import { type LoadedModel, openPolicyWeights, type Policy, policyInfo } from "./policy.ts";
import { replaceDirectory } from "./replace-directory.ts";
import { readTensor } from "./safetensors.ts";
import type { TensorToWrite } from "./safetensors-write.ts";
import { nativeRequest, sampledSequences } from "./samples.ts";
import { vocabularyBytes } from "./vocabulary-bytes.ts";
import { readWeights, type Weights } from "./weights.ts";

export interface LocalEngineOptions {
  /** Absent or 0: one for each processor. Results repeat bit for bit for the same number. */
  readonly threads?: number;
  /** How matrix products are taken. bfloat16 (the default) is float32 where the processor has no units for it. */
  readonly precision?: Precision;
}

/** @throws TroupeError `no_engine` from the constructor when the compiled addon is missing. */
export class LocalEngine implements Engine {
  readonly capabilities = localCapabilities;
  readonly description: string;
  readonly arithmetic: Readonly<Record<string, string>>;
  readonly threads: number;
  readonly #jobs: Jobs;
  readonly #policies = new Map<PolicyName, Policy>();
  /** Bases of adapters, by their directory's real path. */
  readonly #bases = new Map<string, LoadedModel>();

  constructor(options: LocalEngineOptions = {}) {
    const native = startNativeEngine(options.threads ?? 0, options.precision ?? "bfloat16");
    const { kernels, threads, precision } = native.description();
    this.description = `local engine (${kernels}, ${threads} ${threads === 1 ? "thread" : "threads"}, ${precision})`;
    this.arithmetic = { kernels, threads: String(threads), precision, build: nativeBuild() };
    this.threads = threads;
    this.#jobs = new Jobs(native);
  }

  /** Bytes of weights, gradients, moments and caches held after the last job. */
  get memoryBytes(): number {
    return this.#jobs.memoryBytes();
  }

  createPolicy(options: PolicyOptions): Promise<PolicyInfo> {
    return this.#jobs.exclusively(async () => {
      const { name, adapter } = options;
      if (name === "" || this.#policies.has(name)) {
        throw new TroupeError("bad_arguments", `The policy name ${JSON.stringify(name)} is empty or in use.`);
      }
      if (adapter !== undefined) checkAdapterOptions(adapter);
      const policy = await (adapter === undefined
        ? this.#wholeModel(options)
        : this.#adapter(options, adapter));
      this.#policies.set(name, policy);
      return policyInfo(policy);
    });
  }

  removePolicy(name: PolicyName): Promise<void> {
    return this.#jobs.exclusively(async () => {
      const policy = this.#policy(name);
      await this.#run((native, job) => native.remove(job, name));
      this.#policies.delete(name);
      if (policy.adapter !== undefined) await this.#releaseBase(policy.model);
    });
  }

  sample(request: SampleRequest, options: Cancellable = {}): Promise<SampledSequence[]> {
    return this.#jobs.inTurn(async () => {
      const policy = this.#policy(request.policy);
      const native = nativeRequest(request, policy.model.description.shape.maxLength);
      const prepared = native.stopStrings.length > 0 ? this.#prepareStopStrings(policy.model) : undefined;
      const [samples] = await Promise.all([
        this.#run((engine, job) => engine.sample(job, native), options.signal),
        prepared,
      ]);
      return sampledSequences(samples);
    });
  }

  forward(data: readonly Datum[], options: Cancellable = {}): Promise<LossResult> {
    return this.#overData(data, undefined, options, (batch) => (native, job) => native.forward(job, batch));
  }

  forwardBackward(data: readonly Datum[], loss: Loss, options: Cancellable = {}): Promise<LossResult> {
    return this.#overData(
      data,
      loss,
      options,
      (batch) => (native, job) => native.forwardBackward(job, batch, loss),
    );
  }

  optimStep(name: PolicyName, adam: AdamOptions): Promise<{ gradientNorm: number }> {
    return this.#jobs.inTurn(async () => {
      this.#policy(name);
      return { gradientNorm: await this.#run((native, job) => native.optimizerStep(job, name, adam)) };
    });
  }

  /** Forgets gradients that were gathered and not used. */
  zeroGradients(name: PolicyName): Promise<void> {
    return this.#jobs.inTurn(async () => {
      this.#policy(name);
      await this.#run((native, job) => native.zeroGradients(job, name));
    });
  }

  /**
   * A directory that holds an earlier save is replaced; any other that is not empty is refused (`bad_arguments`).
   * `format` is of a whole model's weights; adapters are always F32. Critics are saved as transformers and PEFT save
   * token classifiers of one label: the head is `score.weight` [1, hidden] and `score.bias` [1].
   */
  save(name: PolicyName, directory: string, options: { readonly format?: WeightFormat } = {}): Promise<void> {
    return this.#jobs.exclusively(async () => {
      const { adapter, critic, model, tensors } = this.#policy(name);
      const list = tensors.map((tensor) => this.#toWrite(name, "weight", tensor));
      const marker = adapter === undefined ? "config.json" : adapterMarker;
      await replaceDirectory(directory, marker, (folder) =>
        adapter === undefined
          ? writeModelFiles(folder, model.description, list, options.format ?? "F32")
          : writeAdapterFiles(folder, model.directory, adapter, critic, list),
      );
    });
  }

  load(name: PolicyName, directory: string): Promise<void> {
    return this.#jobs.exclusively(async () => {
      const policy = this.#policy(name);
      await this.#fill(name, policy.tensors, await openPolicyWeights(policy, directory));
    });
  }

  saveOptimizer(name: PolicyName, file: string): Promise<void> {
    return this.#jobs.exclusively(async () => {
      const { tensors } = this.#policy(name);
      const stepCount = await this.#run((native, job) => native.stepCount(job, name));
      await writeOptimizerFile(file, tensors, stepCount, ({ moment }, tensor) =>
        this.#read(name, moment, tensor),
      );
    });
  }

  loadOptimizer(name: PolicyName, path: string): Promise<void> {
    return this.#jobs.exclusively(async () => {
      const { file, stepCount, moments } = await openOptimizerFile(path, this.#policy(name).tensors);
      for (const { moment, tensor, stored } of moments) {
        const values = await readTensor(file, stored);
        await this.#run((native, job) => native.writeTensor(job, name, moment, tensor, values));
      }
      await this.#run((native, job) => native.setStepCount(job, name, stepCount));
    });
  }

  /** A trainable tensor's values, gradient or moments: for tests and for looking inside. */
  readTensor(name: PolicyName, kind: TensorKind, tensor: string): Promise<Float32Array> {
    return this.#jobs.inTurn(async () => {
      const found = this.#policy(name).tensors.find((info) => info.name === tensor);
      if (found === undefined)
        throw new TroupeError("bad_arguments", `The policy ${name} has no tensor ${tensor}.`);
      return this.#read(name, kind, found);
    });
  }

  async close(): Promise<void> {
    await this.#jobs.close();
    this.#policies.clear();
    this.#bases.clear();
  }

  #run<T>(start: StartJob<T>, signal?: AbortSignal): Promise<T> {
    return this.#jobs.run(start, signal);
  }

  #read(policy: string, kind: TensorKind, tensor: TensorInfo): Promise<Float32Array> {
    return this.#run((native, job) => native.readTensor(job, policy, kind, tensor.name));
  }

  #toWrite(policy: string, kind: TensorKind, tensor: TensorInfo): TensorToWrite {
    return { ...tensor, values: () => this.#read(policy, kind, tensor) };
  }

  #policy(name: PolicyName): Policy {
    const policy = this.#policies.get(name);
    if (policy !== undefined) return policy;
    const known = [...this.#policies.keys()].join(", ") || "none";
    throw new TroupeError("bad_arguments", `There is no policy ${JSON.stringify(name)}; there is: ${known}.`);
  }

  #overData(
    data: readonly Datum[],
    loss: Loss | undefined,
    options: Cancellable,
    start: (batch: FlatBatch) => StartJob<NativeLossResult>,
  ): Promise<LossResult> {
    return this.#jobs.inTurn(async () => {
      const batch = flatten(data, loss);
      const critics = new Set(batch.policies.filter((name) => this.#policy(name).critic));
      const result = await this.#run(start(batch), options.signal);
      return lossResult(data, batch, result, critics);
    });
  }

  async #wholeModel({ name, model: directory, valueHead = false }: PolicyOptions): Promise<Policy> {
    const stored = await describeModel(directory);
    checkHead(directory, stored, valueHead);
    const model = await this.#loadModel(name, directory, stored, valueHead ? asCritic(stored) : stored);
    return { name, model, critic: valueHead, tensors: model.tensors };
  }

  async #adapter(options: PolicyOptions, adapter: AdapterOptions): Promise<Policy> {
    const { name, valueHead = false } = options;
    const model = await this.#base(options.model);
    try {
      checkHead(options.model, model.description, valueHead);
      const tensors = await this.#run((native, job) =>
        native.addAdapter(job, name, model.name, { ...adapter, valueHead }),
      );
      await this.#orRemove(name, async () => {
        for (const tensor of tensors) {
          const values = await this.#startOf(model, tensor, adapter.seed);
          await this.#run((native, job) => native.writeTensor(job, name, "weight", tensor.name, values));
        }
      });
      return { name, model, adapter, critic: valueHead, tensors };
    } catch (error) {
      await this.#releaseBase(model);
      throw error;
    }
  }

  /** A critic's adapter on a critic begins with its head. */
  #startOf(base: LoadedModel, tensor: TensorInfo, seed: number): Promise<Float32Array> | Float32Array {
    const head = base.tensors.find(({ name }) => tensor.name === `base_model.model.${name}`);
    return head === undefined ? initialAdapterTensor(tensor, seed) : this.#read(base.name, "weight", head);
  }

  async #base(directory: string): Promise<LoadedModel> {
    const place = await realpath(directory).catch(() => directory);
    const base = this.#bases.get(place) ?? (await this.#loadBase(place, directory));
    this.#bases.set(place, base);
    base.users++;
    return base;
  }

  async #releaseBase(base: LoadedModel): Promise<void> {
    base.users--;
    if (base.users > 0) return;
    for (const [place, model] of this.#bases) if (model === base) this.#bases.delete(place);
    await this.#run((native, job) => native.remove(job, base.name));
  }

  async #loadBase(place: string, directory: string): Promise<LoadedModel> {
    const stored = await describeModel(directory);
    return this.#loadModel(`model ${place}`, directory, stored, stored);
  }

  /** `stored` is what the directory holds, `description` the model to make of it: another head is left at zero. */
  async #loadModel(
    name: string,
    directory: string,
    stored: ModelDescription,
    description: ModelDescription,
  ): Promise<LoadedModel> {
    const { shape } = description;
    const weights = await openModelWeights(directory, stored.shape);
    checkMemory(
      `The weights of ${directory}`,
      parametersOf(modelTensors(shape)) * Float32Array.BYTES_PER_ELEMENT,
    );
    const tensors = await this.#run((native, job) => native.addModel(job, name, shape));
    const present = tensors.filter((tensor) => weights.has(tensor.name));
    await this.#orRemove(name, () => this.#fill(name, present, weights));
    return { name, directory, description, tensors, users: 0 };
  }

  async #fill(name: string, tensors: readonly TensorInfo[], weights: Weights): Promise<void> {
    for await (const tensor of readWeights(weights, tensors)) {
      await this.#run((native, job) => native.writeTensor(job, name, "weight", tensor.name, tensor.values));
    }
  }

  /** Leaves no half-made policy behind. */
  async #orRemove(name: string, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      await this.#run((native, job) => native.remove(job, name)).catch(() => undefined);
      throw error;
    }
  }

  #prepareStopStrings(model: LoadedModel): Promise<void> {
    model.tokenBytes ??= this.#run((native, job) => {
      const table = vocabularyBytes(model.directory, model.description.shape.vocabularySize);
      return native.setTokenBytes(job, model.name, table);
    });
    return model.tokenBytes;
  }
}
