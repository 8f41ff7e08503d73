/** The verbs, computed in this process by the native engine on its own threads. */
import { TroupeError } from "../../errors.ts";
import { adapterMarker, nameOfBase } from "../../models/adapter-base.ts";
import { writeAdapterFiles } from "../../models/adapter-directory.ts";
import type { WeightFormat } from "../../models/float-formats.ts";
import { recordBase } from "../../models/model-digests.ts";
import { writeModelFiles, writeTextFiles } from "../../models/model-directory.ts";
import { replaceDirectory } from "../../models/replace-directory.ts";
import type { TensorToWrite } from "../../models/safetensors-write.ts";
import { readTensor, type TensorInfo } from "../../models/safetensors.ts";
import {
  checkAdamOptions,
  checkCancellable,
  checkExport,
  checkLoss,
  checkPlace,
  checkPolicyOptions,
  checkSampleRequest,
  checkStored,
  nameOf,
  policyOf,
  quoted,
  signalOf,
  policiesOf,
} from "../checks.ts";
import type {
  AdamOptions,
  BatchSize,
  Cancellable,
  Datum,
  Engine,
  ForwardOptions,
  PolicyCopy,
  Loss,
  LossResult,
  PolicyInfo,
  PolicyName,
  PolicyOptions,
  ProcessMemory,
  PromptTokens,
  SampledSequence,
  SampleRequest,
  SavedPolicy,
  SavePlace,
  StoredPolicy,
  EngineCapabilities,
} from "../engine.ts";
import { VerbOrder } from "../verb-order.ts";
import { vocabularyBytes } from "../vocabulary-bytes.ts";
import {
  flatten,
  flatRequest,
  lossResult,
  sampledSequences,
  type FlatBatch,
  type FlatResult,
} from "../flat-data.ts";
import {
  Jobs,
  nativeBuild,
  startNativeEngine,
  type Precision,
  type StartJob,
  type TensorKind,
} from "./native.ts";
import { Loader, openPolicyWeights, policyInfo, type LoadedModel, type Policy } from "./policies.ts";
import {
  checkReplaceable,
  openOptimizerFile,
  writeOptimizerFile,
  directoryOf,
  optimizerFile,
  pathOf,
  savedPolicy,
  type OptimizerFile,
} from "../saved.ts";

export interface LocalEngineOptions {
  /** Absent or 0: one per processor. Results are reproducible bit for bit for the same number. */
  readonly threads?: number;
  /** Precision of matrix products. bfloat16 (the default) is float32 if the processor has no units for it. */
  readonly precision?: Precision;
  /** For keys and values of sequences that are sampled together; absent or 0: a quarter of what is free, at least 1 GB. */
  readonly cacheBytes?: number;
}

/** Known without starting an engine, so that recipes can be checked without a compiled addon. */
export const localCapabilities: EngineCapabilities = {
  wholeModel: true,
  adapters: true,
  losses: ["cross_entropy", "importance_sampling", "ppo", "cispo", "value"],
  topK: true,
  stopStrings: true,
  critic: true,
  klInLoss: true,
  entropyInLoss: true,
  sequenceRatio: true,
  dualClip: true,
  entropy: true,
  gradientNorm: true,
  copy: true,
  top: true,
};

function cacheLimit(bytes: number): number {
  return bytes > 0 ? bytes : Math.max(2 ** 30, Math.round(process.availableMemory() / 4));
}

/** @throws TroupeError `no_engine` from the constructor if the compiled addon is missing */
export class LocalEngine implements Engine {
  readonly capabilities = localCapabilities;
  /** No service is involved that could fail. */
  readonly retries = true;
  readonly description: string;
  readonly arithmetic: Readonly<Record<string, string>>;
  readonly threads: number;
  readonly #jobs: Jobs;
  readonly #loader: Loader;
  readonly #order = new VerbOrder();
  readonly #policies = new Map<PolicyName, Policy>();
  #copies = 0;
  #lastAlone: Promise<unknown> = Promise.resolve();

  constructor(options: LocalEngineOptions = {}) {
    const native = startNativeEngine(
      options.threads ?? 0,
      options.precision ?? "bfloat16",
      cacheLimit(options.cacheBytes ?? 0),
    );
    const { kernels, threads, precision } = native.description();
    this.description = `local engine (${kernels}, ${threads} ${threads === 1 ? "thread" : "threads"}, ${precision})`;
    this.arithmetic = { kernels, threads: String(threads), precision, build: nativeBuild() };
    this.threads = threads;
    this.#jobs = new Jobs(native);
    this.#loader = new Loader(this.#jobs);
  }

  /** Bytes of weights, gradients, moments and caches; updated shortly after the job that changes them. */
  get memoryBytes(): number {
    return this.#jobs.memoryBytes();
  }

  /** Updated as `memoryBytes` is. */
  get promptTokens(): PromptTokens {
    return this.#jobs.promptTokens();
  }

  async predictMemory(work: BatchSize): Promise<ProcessMemory> {
    return { host: await this.#run((native, job) => native.predictMemory(job, work)) };
  }

  createPolicy(options: PolicyOptions): Promise<PolicyInfo> {
    return this.#changeAlone(nameOf(options), async () => {
      checkPolicyOptions(options);
      const { name } = options;
      if (name === "" || this.#policies.has(name)) {
        throw new TroupeError("bad_arguments", `The policy name ${JSON.stringify(name)} is empty or in use.`);
      }
      const policy = await this.#loader.open(options);
      this.#policies.set(name, policy);
      return policyInfo(policy);
    });
  }

  removePolicy(name: PolicyName): Promise<void> {
    return this.#changeAlone(name, async () => {
      await this.#loader.remove(this.#policyOrRest(name));
      this.#policies.delete(name);
    });
  }

  sample(request: SampleRequest, options: Cancellable = {}): Promise<SampledSequence[]> {
    const signal = signalOf(options);
    const sample = async (): Promise<SampledSequence[]> => {
      checkSampleRequest(request, options);
      const policy = this.#policy(request.policy);
      const { version, model } = policy;
      const native = {
        ...flatRequest(request, model.description.shape.maxLength),
        continued: request.continued ?? false,
      };
      const prepared = native.stopStrings.length > 0 ? this.#prepareStopStrings(model) : undefined;
      const [samples] = await Promise.all([
        this.#run((engine, job) => engine.sample(job, native), signal),
        prepared,
      ]);
      return sampledSequences(samples, version);
    };
    return this.#read([policyOf(request)], sample, signal);
  }

  forward(data: readonly Datum[], options: ForwardOptions = {}): Promise<LossResult> {
    const run = this.#overData(
      data,
      undefined,
      options,
      (batch) => (native, job) => native.forward(job, batch, options.top),
    );
    return this.#read(policiesOf(data), run, signalOf(options));
  }

  forwardBackward(data: readonly Datum[], loss: Loss, options: Cancellable = {}): Promise<LossResult> {
    const pass = this.#overData(
      data,
      loss,
      options,
      (batch) => (native, job) => native.forwardBackward(job, batch, loss),
    );
    const run = async (): Promise<LossResult> => {
      checkLoss(loss);
      return pass();
    };
    return this.#change(policiesOf(data), run, signalOf(options));
  }

  optimStep(name: PolicyName, adam: AdamOptions): Promise<{ gradientNorm: number }> {
    const step = async (): Promise<{ gradientNorm: number }> => {
      const policy = this.#policy(name);
      checkAdamOptions(adam);
      const gradientNorm = await this.#run((native, job) => native.optimizerStep(job, name, adam));
      policy.version += 1;
      return { gradientNorm };
    };
    return this.#change([name], step);
  }

  /** Discards accumulated gradients. */
  zeroGradients(name: PolicyName): Promise<void> {
    const zero = async (): Promise<void> => {
      this.#policy(name);
      await this.#run((native, job) => native.zeroGradients(job, name));
    };
    return this.#change([name], zero);
  }

  /** Writes the model directory `place.name` in `place.folder`; see `export`. */
  snapshot(name: PolicyName, place: SavePlace): Promise<SavedPolicy> {
    return this.#readAlone(name, async () => {
      const policy = this.#policy(name);
      checkPlace(place);
      await this.#write(policy, pathOf(place));
      return savedPolicy("snapshot", place, policy.version);
    });
  }

  /** Like `snapshot`, with a file of the optimizer's state next to it. */
  checkpoint(name: PolicyName, place: SavePlace): Promise<SavedPolicy> {
    return this.#readAlone(name, async () => {
      const policy = this.#policy(name);
      checkPlace(place);
      const file = optimizerFile(pathOf(place));
      await checkReplaceable(file);
      await this.#write(policy, pathOf(place));
      const stepCount = await this.#run((native, job) => native.stepCount(job, name));
      await writeOptimizerFile(file, policy.tensors, stepCount, ({ moment }, tensor) =>
        this.#tensor(name, moment, tensor),
      );
      return savedPolicy("checkpoint", place, policy.version);
    });
  }

  restore(name: PolicyName, stored: StoredPolicy): Promise<void> {
    return this.#changeAlone(name, async () => {
      const policy = this.#policyOrRest(name);
      checkStored(stored);
      const directory = directoryOf(stored);
      const weights = await openPolicyWeights(policy, directory);
      const { kind, version } = stored.saved;
      const optimizer =
        kind === "checkpoint" ? await openOptimizerFile(optimizerFile(directory), policy.tensors) : null;
      policy.spoilt = directory;
      await this.#loader.fill(name, policy.tensors, weights);
      if (optimizer !== null) await this.#fillOptimizer(name, optimizer);
      await this.#run((native, job) => native.zeroGradients(job, name));
      policy.version = version;
      delete policy.spoilt;
    });
  }

  /**
   * A directory that holds an earlier save is replaced; any other non-empty one is rejected (`bad_arguments`).
   * `format` applies to a whole model's weights; adapters are always F32. Critics are saved like token classifiers of
   * one label in transformers and PEFT: the head is `score.weight` [1, hidden] and `score.bias` [1].
   */
  export(
    name: PolicyName,
    directory: string,
    options: { readonly format?: WeightFormat } = {},
  ): Promise<void> {
    return this.#readAlone(name, async () => {
      const policy = this.#policy(name);
      checkExport(directory, options);
      return this.#write(policy, directory, options.format);
    });
  }

  /** A copy of the trainable weights in memory. */
  copy(name: PolicyName): Promise<PolicyCopy> {
    return this.#readAlone(name, async () => {
      const copy = await this.#loader.copy(this.#policy(name), `${name} copy ${++this.#copies}`);
      this.#policies.set(copy.name, copy);
      return {
        sample: (request, options) => this.sample({ ...request, policy: copy.name }, options),
        release: () => this.removePolicy(copy.name),
      };
    });
  }

  /** A trainable tensor's values, gradient or moments, for tests and inspection. */
  readTensor(name: PolicyName, kind: TensorKind, tensor: string): Promise<Float32Array> {
    return this.#read([name], async () => {
      const found = this.#policy(name).tensors.find((info) => info.name === tensor);
      if (found === undefined)
        throw new TroupeError("bad_arguments", `The policy ${name} has no tensor ${tensor}.`);
      return this.#tensor(name, kind, found);
    });
  }

  async close(): Promise<void> {
    this.#order.close();
    await this.#jobs.close();
    this.#policies.clear();
    this.#loader.forget();
  }

  #run<T>(start: StartJob<T>, signal?: AbortSignal): Promise<T> {
    return this.#jobs.run(start, signal);
  }

  /** In turn (verb-order.ts); the native engine then takes jobs in the order of the calls. */
  #read<T>(policies: readonly PolicyName[], work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    return this.#order.read(policies, () => this.#afterAlone(work), signal);
  }

  #change<T>(policies: readonly PolicyName[], work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    return this.#order.change(policies, () => this.#afterAlone(work), signal);
  }

  /**
   * Verbs that load or save run one at a time: adapters share bases, and a save may be what the next verb opens. Others
   * wait too, whatever their policy: otherwise each of a save's many short jobs would queue behind another policy's long
   * one, and a save of a second would take minutes while others train.
   */
  #readAlone<T>(policy: PolicyName, work: () => Promise<T>): Promise<T> {
    return this.#order.read([policy], () => this.#alone(work));
  }

  #changeAlone<T>(policy: PolicyName, work: () => Promise<T>): Promise<T> {
    return this.#order.change([policy], () => this.#alone(work));
  }

  #alone<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#afterAlone(work);
    this.#lastAlone = result.catch(() => undefined);
    return result;
  }

  async #afterAlone<T>(work: () => Promise<T>): Promise<T> {
    await this.#lastAlone;
    this.#jobs.rejectIfClosed();
    return work();
  }

  #tensor(policy: string, kind: TensorKind, tensor: TensorInfo): Promise<Float32Array> {
    return this.#run((native, job) => native.readTensor(job, policy, kind, tensor.name));
  }

  async #write(policy: Policy, directory: string, format: WeightFormat = "F32"): Promise<void> {
    const { name, model, adapter, critic, tensors, textFiles } = policy;
    const list: TensorToWrite[] = tensors.map((tensor) => ({
      ...tensor,
      values: () => this.#tensor(name, "weight", tensor),
    }));
    const marker = adapter === undefined ? "config.json" : adapterMarker;
    await replaceDirectory(directory, marker, async (folder) => {
      if (adapter === undefined) return writeModelFiles(folder, model.description, list, format);
      await writeTextFiles(folder, textFiles);
      await recordBase(folder, model);
      return writeAdapterFiles(folder, nameOfBase(folder, model.directory), adapter, critic, list);
    });
  }

  async #fillOptimizer(name: PolicyName, { file, stepCount, moments }: OptimizerFile): Promise<void> {
    for (const { moment, tensor, stored } of moments) {
      const values = await readTensor(file, stored);
      await this.#run((native, job) => native.writeTensor(job, name, moment, tensor, values));
    }
    await this.#run((native, job) => native.setStepCount(job, name, stepCount));
  }

  #policy(name: PolicyName): Policy {
    const policy = this.#policyOrRest(name);
    if (policy.spoilt === undefined) return policy;
    throw new TroupeError(
      "bad_model",
      `The weights of the policy ${quoted(name)} are incomplete, because restoring them from ${policy.spoilt} failed. ` +
        "Restore it from a complete checkpoint, or remove it.",
    );
  }

  /** Also one whose restoring failed. */
  #policyOrRest(name: PolicyName): Policy {
    const policy = this.#policies.get(name);
    if (policy !== undefined) return policy;
    const known = [...this.#policies.keys()].join(", ") || "none";
    throw new TroupeError("bad_arguments", `There is no policy ${quoted(name)}; there is: ${known}.`);
  }

  #overData(
    data: readonly Datum[],
    loss: Loss | undefined,
    options: Cancellable,
    start: (batch: FlatBatch) => StartJob<FlatResult>,
  ): () => Promise<LossResult> {
    return async () => {
      checkCancellable(options);
      const batch = flatten(data, loss);
      const critics = new Set(batch.policies.filter((name) => this.#policy(name).critic));
      const result = await this.#run(start(batch), signalOf(options));
      return lossResult(data, batch, result, critics);
    };
  }

  #prepareStopStrings(model: LoadedModel): Promise<void> {
    model.tokenBytes ??= this.#run((native, job) => {
      const table = vocabularyBytes(model.directory, model.description.shape.vocabularySize);
      return native.setTokenBytes(job, model.name, table);
    });
    // A file that could not be read may be readable the next time.
    model.tokenBytes.catch(() => delete model.tokenBytes);
    return model.tokenBytes;
  }
}
