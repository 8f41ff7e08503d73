/** The verbs, computed in this process by the native engine, on threads of its own. */
import { TroupeError } from "../../errors.ts";
import type {
  AdamOptions,
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
import { adapterMarker } from "../../models/adapter-base.ts";
import { writeAdapterFiles } from "../../models/adapter-directory.ts";
import { flatten } from "./batch.ts";
import type { WeightFormat } from "../../models/float-formats.ts";
import { localCapabilities } from "./capabilities.ts";
import { Jobs, type StartJob } from "./jobs.ts";
import { lossResult } from "./loss-result.ts";
import { Loader } from "./loader.ts";
import { writeModelFiles } from "../../models/model-directory.ts";
import { nativeBuild, startNativeEngine, type FlatBatch, type NativeLossResult } from "./native.ts";
import type { TensorInfo } from "../../models/tensor.ts";
import type { Precision, TensorKind } from "./native.ts";
import { openOptimizerFile, writeOptimizerFile } from "./optimizer-state.ts";
import { type LoadedModel, openPolicyWeights, type Policy, policyInfo } from "./policy.ts";
import { replaceDirectory } from "../../models/replace-directory.ts";
import { readTensor } from "../../models/safetensors.ts";
import type { TensorToWrite } from "../../models/safetensors-write.ts";
import { nativeRequest, sampledSequences } from "./samples.ts";
import { vocabularyBytes } from "./vocabulary-bytes.ts";

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
  readonly #loader: Loader;
  readonly #policies = new Map<PolicyName, Policy>();

  constructor(options: LocalEngineOptions = {}) {
    const native = startNativeEngine(options.threads ?? 0, options.precision ?? "bfloat16");
    const { kernels, threads, precision } = native.description();
    this.description = `local engine (${kernels}, ${threads} ${threads === 1 ? "thread" : "threads"}, ${precision})`;
    this.arithmetic = { kernels, threads: String(threads), precision, build: nativeBuild() };
    this.threads = threads;
    this.#jobs = new Jobs(native);
    this.#loader = new Loader(this.#jobs);
  }

  /** Bytes of weights, gradients, moments and caches held; told a moment after the job that changes them. */
  get memoryBytes(): number {
    return this.#jobs.memoryBytes();
  }

  createPolicy(options: PolicyOptions): Promise<PolicyInfo> {
    return this.#jobs.exclusively(async () => {
      const { name, model } = options;
      if (typeof model !== "string")
        throw new TroupeError("bad_arguments", "`model` of a policy must be the path of a directory.");
      if (name === "" || this.#policies.has(name)) {
        throw new TroupeError("bad_arguments", `The policy name ${JSON.stringify(name)} is empty or in use.`);
      }
      const policy = await this.#loader.open(options);
      this.#policies.set(name, policy);
      return policyInfo(policy);
    });
  }

  removePolicy(name: PolicyName): Promise<void> {
    return this.#jobs.exclusively(async () => {
      await this.#loader.remove(this.#policy(name));
      this.#policies.delete(name);
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
      await this.#loader.fill(name, policy.tensors, await openPolicyWeights(policy, directory));
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
    this.#loader.forget();
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

  #prepareStopStrings(model: LoadedModel): Promise<void> {
    model.tokenBytes ??= this.#run((native, job) => {
      const table = vocabularyBytes(model.directory, model.description.shape.vocabularySize);
      return native.setTokenBytes(job, model.name, table);
    });
    return model.tokenBytes;
  }
}
