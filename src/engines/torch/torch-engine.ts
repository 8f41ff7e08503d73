/** The verbs, computed by PyTorch in a process of its own (python/troupe_torch), on the GPU where there is one. */
import { hash } from "node:crypto";
import { TroupeError } from "../../errors.ts";
import { adapterMarker, baseOf, holdsAdapter, holdsText } from "../../models/adapter-base.ts";
import { initialAdapterTensor, writeAdapterConfig } from "../../models/adapter-directory.ts";
import type { AdapterOptions } from "../../models/adapter-options.ts";
import { checkRecordedBase, modelVersion, recordBase, type LoadedBase } from "../../models/model-digests.ts";
import { readTextFiles, writeTextFiles } from "../../models/model-directory.ts";
import { replaceDirectory } from "../../models/replace-directory.ts";
import type { TensorInfo } from "../../models/safetensors.ts";
import { isPresentSync } from "../../present.ts";
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
  EngineCapabilities,
  ForwardOptions,
  Loss,
  LossResult,
  PolicyCopy,
  PolicyInfo,
  PolicyName,
  PolicyOptions,
  ProcessMemory,
  SampledSequence,
  SampleRequest,
  SavedPolicy,
  SavePlace,
  StoredPolicy,
} from "../engine.ts";
import {
  flatRequest,
  flatten,
  lossResult,
  sampledSequences,
  type FlatResult,
  type FlatSamples,
} from "../flat-data.ts";
import {
  checkReplaceable,
  directoryOf,
  making,
  optimizerFile,
  pathOf,
  savedPolicy,
  type Making,
} from "../saved.ts";
import { vocabularyBytes } from "../vocabulary-bytes.ts";
import { VerbOrder } from "../verb-order.ts";
import {
  createdSchema,
  hasHeader,
  hasPass,
  hasSamples,
  hasValues,
  predictedSchema,
  steppedSchema,
} from "./answers.ts";
import type { FrameArray } from "./frames.ts";
import type { LastingWorker } from "./lasting-worker.ts";

export const torchCapabilities: EngineCapabilities = {
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

type EngineWorker = Pick<LastingWorker, "ready" | "memory" | "ask" | "saved" | "moved" | "close">;

interface Policy {
  readonly name: PolicyName;
  /** The whole model, or that below the adapter. */
  readonly base: LoadedBase;
  readonly adapter: AdapterOptions | null;
  readonly critic: boolean;
  readonly info: PolicyInfo;
  /** Files saved with the weights, by name: the tokenizer, the chat template. */
  readonly textFiles: ReadonlyMap<string, Uint8Array>;
  version: number;
  /** Present once the worker has the vocabulary's bytes. */
  tokenBytes?: Promise<unknown>;
}

export class TorchEngine implements Engine {
  readonly capabilities: EngineCapabilities;
  /** The worker does: alone, a new one would have no policies. */
  readonly retries = true;
  readonly #worker: EngineWorker;
  readonly #order = new VerbOrder();
  readonly #policies = new Map<PolicyName, Policy>();
  /** What the worker runs on. Known once it is ready, which every verb waits for. */
  #found: Readonly<Record<string, unknown>> = {};
  #copies = 0;
  #isClosed = false;

  constructor(worker: EngineWorker, capabilities: EngineCapabilities = torchCapabilities) {
    this.capabilities = capabilities;
    this.#worker = worker;
  }

  /** Resolves once the worker has started. @throws TroupeError `no_engine` */
  async ready(): Promise<Readonly<Record<string, unknown>>> {
    this.#found = (await this.#worker.ready).header;
    return this.#found;
  }

  get description(): string {
    const { device, precision, threads, torch, sampler } = this.#found;
    if (device === undefined) return "torch engine";
    const where = device === "cpu" ? [`${String(threads)} ${threads === 1 ? "thread" : "threads"}`] : [];
    const sampling = typeof sampler === "string" ? `, sampled by ${sampler}` : "";
    return `torch engine (${[device, ...where, precision].join(", ")}, PyTorch ${String(torch)}${sampling})`;
  }

  get arithmetic(): Readonly<Record<string, string>> {
    const { device, precision, threads, torch, transformers, sampler } = this.#found;
    const all = {
      device,
      precision,
      torch,
      transformers,
      ...(device === "cpu" ? { threads } : {}),
      ...(sampler === undefined ? {} : { sampler }),
    };
    return Object.fromEntries(Object.entries(all).map(([name, value]) => [name, String(value)]));
  }

  get memoryBytes(): number {
    return this.#worker.memory?.held ?? 0;
  }

  get processMemory(): ProcessMemory | undefined {
    return this.#worker.memory?.process;
  }

  moved(from: string, to: string): void {
    this.#worker.moved(from, to);
  }

  async predictMemory(size: BatchSize): Promise<ProcessMemory> {
    const asked = { ...size };
    const check = hasHeader(predictedSchema);
    const { header } = await this.#worker.ask("predictMemory", asked, {}, { check });
    return predictedSchema.parse(header);
  }

  createPolicy(options: PolicyOptions): Promise<PolicyInfo> {
    return this.#change([nameOf(options)], async () => {
      checkPolicyOptions(options);
      const { name } = options;
      if (name === "" || this.#policies.has(name))
        throw new TroupeError("bad_arguments", `The policy name ${JSON.stringify(name)} is empty or in use.`);
      const made = making(options);
      checkPresent(made.directory);
      const policy = await this.#make(made);
      this.#policies.set(name, policy);
      return policy.info;
    });
  }

  removePolicy(name: PolicyName): Promise<void> {
    return this.#change([name], async () => {
      this.#policy(name);
      await this.#worker.ask("remove", { name });
      this.#policies.delete(name);
    });
  }

  sample(request: SampleRequest, options: Cancellable = {}): Promise<SampledSequence[]> {
    const signal = signalOf(options);
    const sample = async (): Promise<SampledSequence[]> => {
      checkSampleRequest(request, options);
      const policy = this.#policy(request.policy);
      const { version } = policy;
      const whole = flatRequest(request, policy.info.maxLength);
      const { prompt, stopTokens, ...flat } = whole;
      checkNumbers(flat);
      if (flat.stopStrings.length > 0) await this.#prepareStopStrings(policy);
      const check = hasSamples(whole, policy.info.vocabularySize);
      const { arrays } = await this.#worker.ask("sample", flat, { prompt, stopTokens }, { signal, check });
      return sampledSequences(arrays as unknown as FlatSamples, version);
    };
    return this.#read([policyOf(request)], sample, signal);
  }

  forward(data: readonly Datum[], options: ForwardOptions = {}): Promise<LossResult> {
    const run = this.#overData(data, undefined, options, "forward", { top: options?.top ?? 0 });
    return this.#read(policiesOf(data), run, signalOf(options));
  }

  forwardBackward(data: readonly Datum[], loss: Loss, options: Cancellable = {}): Promise<LossResult> {
    const pass = this.#overData(data, loss, options, "forwardBackward", { loss });
    const run = async (): Promise<LossResult> => {
      checkLoss(loss);
      return pass();
    };
    return this.#change(policiesOf(data), run, signalOf(options));
  }

  optimStep(name: PolicyName, adam: AdamOptions): Promise<{ gradientNorm: number }> {
    return this.#change([name], async () => {
      const policy = this.#policy(name);
      checkAdamOptions(adam);
      checkNumbers({ ...adam });
      const check = hasHeader(steppedSchema);
      const { header } = await this.#worker.ask("optimStep", { name, adam }, {}, { check });
      policy.version += 1;
      return { gradientNorm: steppedSchema.parse(header).gradientNorm };
    });
  }

  /** Discards accumulated gradients. */
  zeroGradients(name: PolicyName): Promise<void> {
    return this.#change([name], async () => {
      this.#policy(name);
      await this.#worker.ask("zeroGradients", { name });
    });
  }

  snapshot(name: PolicyName, place: SavePlace): Promise<SavedPolicy> {
    return this.#read([name], async () => {
      const policy = this.#policy(name);
      checkPlace(place);
      await this.#write(policy, pathOf(place));
      return savedPolicy("snapshot", place, policy.version);
    });
  }

  /** Like `snapshot`, with a file of the optimizer's state next to it. */
  checkpoint(name: PolicyName, place: SavePlace): Promise<SavedPolicy> {
    return this.#read([name], async () => {
      const policy = this.#policy(name);
      checkPlace(place);
      const file = optimizerFile(pathOf(place));
      await checkReplaceable(file);
      await this.#write(policy, pathOf(place));
      await this.#worker.ask("writeOptimizer", { name, file });
      this.#worker.saved(name, pathOf(place), file);
      return savedPolicy("checkpoint", place, policy.version);
    });
  }

  restore(name: PolicyName, stored: StoredPolicy): Promise<void> {
    return this.#change([name], async () => {
      const policy = this.#policy(name);
      checkStored(stored);
      const directory = directoryOf(stored);
      checkPresent(directory);
      const { kind, version } = stored.saved;
      if (policy.adapter !== null) await checkRecordedBase(directory, policy.base);
      const optimizer = kind === "checkpoint" ? optimizerFile(directory) : null;
      await this.#worker.ask("restore", { name, directory, optimizer });
      policy.version = version;
    });
  }

  export(name: PolicyName, directory: string): Promise<void> {
    return this.#read([name], async () => {
      const policy = this.#policy(name);
      checkExport(directory, {});
      await this.#write(policy, directory);
    });
  }

  copy(name: PolicyName): Promise<PolicyCopy> {
    return this.#read([name], async () => {
      const policy = this.#policy(name);
      let to = `${name} copy ${++this.#copies}`;
      while (this.#policies.has(to)) to = `${name} copy ${++this.#copies}`;
      await this.#worker.ask("copy", { name, to });
      this.#policies.set(to, { ...policy, name: to });
      return {
        sample: (request, options) => this.sample({ ...request, policy: to }, options),
        release: () => this.removePolicy(to),
      };
    });
  }

  /** A trainable tensor's values, gradient or moments, for tests and inspection. */
  readTensor(
    name: PolicyName,
    kind: "weight" | "gradient" | "moment1" | "moment2",
    tensor: string,
  ): Promise<Float32Array> {
    return this.#read([name], async () => {
      this.#policy(name);
      const { arrays } = await this.#worker.ask(
        "readTensor",
        { name, kind, tensor },
        {},
        { check: hasValues },
      );
      return arrays["values"] as Float32Array;
    });
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#order.close();
    this.#policies.clear();
    await this.#worker.close();
  }

  async #make(made: Making): Promise<Policy> {
    const { name, directory, adapter, valueHead: critic, version } = made;
    const from = adapter === null ? directory : baseOf(made.model);
    const base = { directory: from, version: await modelVersion(from) };
    const stored = adapter !== null && holdsAdapter(directory);
    if (stored) await checkRecordedBase(directory, base);
    // Adapters share a base that the worker has loaded, unless its files are others by now.
    const baseVersion = hash("sha256", base.version);
    const given = { name, directory, base: base.directory, baseVersion, adapter, valueHead: critic, stored };
    const check = hasHeader(createdSchema);
    const { header } = await this.#worker.ask("create", given, {}, { check });
    const { fresh, parameters, trainableParameters, maxLength, vocabularySize } = createdSchema.parse(header);
    try {
      if ((await modelVersion(base.directory)) !== base.version)
        throw new TroupeError("bad_model", `${base.directory} was changed while it was read; try again.`);
      // The local engine starts adapters with the same numbers.
      for (const [tensor, shape] of fresh) {
        const info: TensorInfo = { name: tensor, shape };
        await this.#worker.ask(
          "fill",
          { name },
          { [tensor]: initialAdapterTensor(info, adapter?.seed ?? 0) },
        );
      }
      const textFiles = await readTextFiles(holdsText(directory) ? directory : base.directory);
      const info = { name, parameters, trainableParameters, maxLength, vocabularySize };
      return { name, base, adapter, critic, info, textFiles, version };
    } catch (error) {
      await this.#worker.ask("remove", { name }).catch(() => undefined);
      throw error;
    }
  }

  async #write(policy: Policy, directory: string): Promise<void> {
    const { name, base, adapter, critic, textFiles } = policy;
    await replaceDirectory(directory, adapter === null ? "config.json" : adapterMarker, async (folder) => {
      await this.#worker.ask("write", { name, folder });
      await writeTextFiles(folder, textFiles);
      if (adapter === null) return;
      await recordBase(folder, base);
      await writeAdapterConfig(folder, base.directory, adapter, critic);
    });
  }

  #overData(
    data: readonly Datum[],
    loss: Loss | undefined,
    options: Cancellable,
    verb: string,
    more: object,
  ): () => Promise<LossResult> {
    return async () => {
      checkCancellable(options);
      const batch = flatten(data, loss);
      const critics = new Set(batch.policies.filter((name) => this.#policy(name).critic));
      const { policies, ...arrays } = batch;
      const { top = 0 } = options as ForwardOptions;
      const check = hasPass({ data, top, policyOf: (name) => this.#policy(name) });
      const asking = { signal: signalOf(options), check };
      const { header, arrays: found } = await this.#worker.ask(verb, { ...more, policies }, arrays, asking);
      return lossResult(data, batch, resultOf(header, found), critics);
    };
  }

  #prepareStopStrings(policy: Policy): Promise<unknown> {
    const { name, base, info } = policy;
    policy.tokenBytes ??= (async () =>
      this.#worker.ask("tokenBytes", { name }, vocabularyBytes(base.directory, info.vocabularySize)))();
    // A file that could not be read may be readable the next time.
    policy.tokenBytes.catch(() => delete policy.tokenBytes);
    return policy.tokenBytes;
  }

  #read<T>(policies: readonly PolicyName[], work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    return this.#order.read(policies, () => this.#unlessClosed(work), signal);
  }

  #change<T>(policies: readonly PolicyName[], work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    return this.#order.change(policies, () => this.#unlessClosed(work), signal);
  }

  async #unlessClosed<T>(work: () => Promise<T>): Promise<T> {
    if (this.#isClosed) throw new TroupeError("bad_arguments", "The engine is closed. Open another one.");
    await this.ready();
    return work();
  }

  #policy(name: PolicyName): Policy {
    const policy = this.#policies.get(name);
    if (policy !== undefined) return policy;
    const known = [...this.#policies.keys()].join(", ") || "none";
    throw new TroupeError("bad_arguments", `There is no policy ${quoted(name)}; there is: ${known}.`);
  }
}

function resultOf(
  header: Readonly<Record<string, unknown>>,
  arrays: Readonly<Record<string, FrameArray>>,
): FlatResult {
  const { loss, tokens, entropy, kl, referenceKl, clipped } = header as unknown as FlatResult;
  return {
    loss,
    tokens,
    entropy,
    kl,
    referenceKl,
    clipped,
    ...(arrays as unknown as Pick<FlatResult, "outputs">),
  };
}

/** JSON has no numbers that are not finite. */
function checkNumbers(fields: Readonly<Record<string, unknown>>): void {
  for (const [name, value] of Object.entries(fields))
    if (typeof value === "number" && !Number.isFinite(value))
      throw new TroupeError("bad_arguments", `${name} is ${value}; expected a finite number.`);
}

function checkPresent(directory: string): void {
  if (isPresentSync(directory, "bad_model")) return;
  throw new TroupeError("bad_model", `${directory} does not exist. Use a model directory.`);
}
