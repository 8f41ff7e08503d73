/**
 * An engine for tests: the verbs and losses of engine.ts on a model of a few hundred parameters (tiny-model.ts), in
 * TypeScript and float64, independent of the native engine. Vocabulary and length come from a model directory, weights
 * from a hash of the directory's name. It saves files of its own format, not model directories.
 */
import { readFile } from "node:fs/promises";
import path from "node:path";
import { setImmediate as tick } from "node:timers/promises";
import { TroupeError, ServiceError } from "../../errors.ts";
import { checkAdapterOptions } from "../../models/adapter-options.ts";
import { describeModel } from "../../models/model-directory.ts";
import { keyAt, rootKey, drawFloat, drawInt, generatorOf } from "../../random.ts";
import { writeFileDurably } from "../../runs/durable.ts";
import { loadTokenizer } from "../../text/tokenizer.ts";
import { checkData, policiesOf } from "../checks.ts";
import type {
  AdamOptions,
  Cancellable,
  Datum,
  Engine,
  EngineCapabilities,
  ForwardOptions,
  PolicyCopy,
  Loss,
  LossResult,
  PolicyInfo,
  PolicyOptions,
  SampledSequence,
  SampleRequest,
  SavedPolicy,
  SavePlace,
  UpdateResult,
  StoredPolicy,
} from "../engine.ts";
import { engineAround, type Verb } from "../retrying.ts";
import { VerbOrder } from "../verb-order.ts";
import {
  asCritic,
  freshModel,
  isCritic,
  withAdapter,
  newPolicy,
  step,
  zeroGradients,
  type TinyPolicy,
  type TinyModel,
  type Optimizer,
  type Tensors,
} from "./tiny-model.ts";
import { passOver, topTokens, checkRequest, sampleSequence } from "./tiny-passes.ts";

export interface TinyEngineOptions {
  /** Scale of initial weights; default: 1. */
  readonly seed?: number;
  /** Width of the hidden layer; default: 16. */
  readonly hidden?: number;
  /** Capabilities to omit. */
  readonly without?: readonly Optional[];
}

type Optional = "entropy" | "entropyInLoss" | "gradientNorm" | "stopStrings" | "topK";

export class TinyEngine implements Engine {
  readonly capabilities: EngineCapabilities;
  readonly description = "tiny engine (float64)";
  readonly arithmetic = { numbers: "float64" };
  readonly #options: TinyEngineOptions;
  readonly #order = new VerbOrder();
  readonly #policies = new Map<string, TinyPolicy>();
  #copies = 0;
  #isClosed = false;

  constructor(options: TinyEngineOptions = {}) {
    this.#options = options;
    const has = (name: Optional): boolean => options.without?.includes(name) !== true;
    this.capabilities = {
      wholeModel: true,
      adapters: true,
      losses: ["cross_entropy", "importance_sampling", "ppo", "cispo", "value"],
      topK: has("topK"),
      stopStrings: has("stopStrings"),
      entropy: has("entropy"),
      gradientNorm: has("gradientNorm"),
      critic: true,
      klInLoss: true,
      entropyInLoss: has("entropyInLoss"),
      sequenceRatio: true,
      dualClip: true,
      copy: true,
      top: true,
    };
  }

  createPolicy(options: PolicyOptions): Promise<PolicyInfo> {
    return this.#change([options.name], async () => {
      if (options.name === "" || this.#policies.has(options.name))
        throw new TroupeError(
          "bad_arguments",
          `The policy name ${JSON.stringify(options.name)} is empty or in use.`,
        );
      const policy = await this.#make(options);
      this.#policies.set(options.name, policy);
      return policy.info;
    });
  }

  removePolicy(name: string): Promise<void> {
    return this.#change([name], async () => {
      this.#policy(name);
      this.#policies.delete(name);
    });
  }

  sample(request: SampleRequest, options: Cancellable = {}): Promise<SampledSequence[]> {
    return this.#read([request.policy], options, async () => {
      const { model, info, version, text } = this.#policy(request.policy);
      if (isCritic(model))
        throw new TroupeError("bad_arguments", `${info.name} is a critic and writes no tokens.`);
      checkRequest(request, info);
      this.#require("topK", (request.topK ?? 0) > 0);
      this.#require("stopStrings", (request.stopStrings ?? []).length > 0);
      const limit = Math.min(request.maxTokens, info.maxLength - request.prompt.length);
      const tokenizer = request.stopStrings?.length ? loadTokenizer(text) : null;
      const bytesOf = (token: number): Uint8Array => tokenizer?.tokenBytes(token) ?? new Uint8Array();
      return Array.from({ length: request.count }, (_, index) => ({
        ...sampleSequence(model, request, index, limit, bytesOf),
        policyVersion: version,
      }));
    });
  }

  forward(data: readonly Datum[], options: ForwardOptions = {}): Promise<LossResult> {
    return this.#read(policiesOf(data), options, async () => {
      checkData(data);
      const result = this.#pass(data, { type: "cross_entropy" }, false);
      const { top = 0 } = options;
      return top === 0 ? result : { ...result, top: topTokens((name) => this.#policy(name), data, top) };
    });
  }

  forwardBackward(data: readonly Datum[], loss: Loss, options: Cancellable = {}): Promise<LossResult> {
    const pass = async (): Promise<LossResult> => {
      checkData(data, loss);
      return this.#pass(data, loss, true);
    };
    return this.#change(policiesOf(data), pass, options.signal);
  }

  optimStep(name: string, adam: AdamOptions): Promise<UpdateResult> {
    return this.#change([name], async () => {
      const gradientNorm = step(this.#policy(name), adam);
      return this.capabilities.gradientNorm ? { gradientNorm } : {};
    });
  }

  snapshot(name: string, place: SavePlace): Promise<SavedPolicy> {
    return this.#read([name], {}, async () => save(this.#policy(name), place, "snapshot"));
  }

  checkpoint(name: string, place: SavePlace): Promise<SavedPolicy> {
    return this.#read([name], {}, async () => save(this.#policy(name), place, "checkpoint"));
  }

  restore(name: string, stored: StoredPolicy): Promise<void> {
    return this.#change([name], async () => {
      const policy = this.#policy(name);
      restore(policy, await load(stored), stored.saved.kind);
      zeroGradients(policy);
    });
  }

  copy(name: string): Promise<PolicyCopy> {
    return this.#read([name], {}, async () => {
      const copy = `${name} copy ${++this.#copies}`;
      this.#policies.set(copy, structuredClone(this.#policy(name)));
      return {
        sample: (request, options) => this.sample({ ...request, policy: copy }, options),
        release: () => this.removePolicy(copy),
      };
    });
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#order.close();
    this.#policies.clear();
  }

  #read<T>(policies: readonly string[], { signal }: Cancellable, work: () => Promise<T>): Promise<T> {
    return this.#order.read(policies, () => this.#run(work, signal), signal);
  }

  #change<T>(policies: readonly string[], work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    return this.#order.change(policies, () => this.#run(work, signal), signal);
  }

  /** As in any other engine, nothing happens before the call has returned. */
  async #run<T>(work: () => Promise<T>, signal: AbortSignal | undefined): Promise<T> {
    await Promise.resolve();
    if (this.#isClosed) throw new TroupeError("bad_arguments", "The engine is closed.");
    if (signal?.aborted === true) throw new TroupeError("cancelled", "Cancelled before it began.");
    return work();
  }

  async #make({ name, model: given, from, adapter, valueHead = false }: PolicyOptions): Promise<TinyPolicy> {
    if (adapter !== undefined) checkAdapterOptions(adapter);
    const stored = from ?? (typeof given === "string" ? undefined : given);
    const loaded = stored === undefined ? await this.#model(given as string) : await load(stored);
    const isFresh = adapter !== undefined && loaded.model.rank === 0;
    if (isFresh && from !== undefined)
      throw new TroupeError("bad_model", `What was saved is no adapter, and the policy ${name} is one.`);
    if (from !== undefined)
      checkBase(loaded.model, typeof given === "string" ? await this.#model(given) : await load(given));
    if (isCritic(loaded.model) && !valueHead)
      throw new TroupeError("bad_model", "What was saved is a critic, which gives values and no tokens.");
    const adapted = isFresh
      ? withAdapter(loaded.model, adapter.rank, adapter.alpha, keyAt(rootKey(adapter.seed), "adapter"))
      : loaded.model;
    return newPolicy(name, valueHead ? asCritic(adapted) : adapted, loaded);
  }

  async #model(directory: string): Promise<LoadedTiny> {
    if (typeof directory !== "string")
      throw new TroupeError("bad_arguments", "`model` of a policy must be the path of a directory.");
    const { vocabularySize, maxLength } = (await describeModel(directory)).shape;
    const { seed = 1, hidden = 16 } = this.#options;
    const key = keyAt(rootKey(seed), "model", path.basename(directory));
    const model = freshModel(vocabularySize, hidden, key);
    return { model, optimizer: null, text: directory, maxLength, version: 0 };
  }

  #pass(data: readonly Datum[], loss: Loss, isTraining: boolean): LossResult {
    const policyOf = (name: string): TinyPolicy => this.#policy(name);
    return passOver({ policyOf, isTraining, hasEntropy: this.capabilities.entropy }, data, loss);
  }

  #require(capability: "stopStrings" | "topK", isAsked: boolean): void {
    if (isAsked && !this.capabilities[capability])
      throw new TroupeError("unsupported", `This engine does not support ${capability}.`);
  }

  #policy(name: string): TinyPolicy {
    const policy = this.#policies.get(name);
    if (policy !== undefined) return policy;
    throw new TroupeError("bad_arguments", `There is no policy ${JSON.stringify(name)}.`);
  }
}

interface SavedTiny {
  readonly model: Omit<TinyModel, "tensors"> & { readonly tensors: Record<string, readonly number[]> };
  readonly optimizer: {
    steps: number;
    moments1: Record<string, number[]>;
    moments2: Record<string, number[]>;
  } | null;
  /** Relative to the folder, so that both can be moved. */
  readonly text: string;
  readonly maxLength: number;
}

async function save(
  { model, optimizer, text, info, version }: TinyPolicy,
  { folder, name }: SavePlace,
  kind: SavedPolicy["kind"],
): Promise<SavedPolicy> {
  const saved: SavedTiny = {
    model: { ...model, tensors: plain(model.tensors) },
    optimizer:
      kind === "snapshot"
        ? null
        : {
            steps: optimizer.steps,
            moments1: plain(optimizer.moments1),
            moments2: plain(optimizer.moments2),
          },
    text: path.relative(folder, text),
    maxLength: info.maxLength,
  };
  if (name === "" || path.basename(name) !== name)
    throw new TroupeError(
      "bad_arguments",
      `The name of a save is ${JSON.stringify(name)}; expected a file name.`,
    );
  await writeFileDurably(path.join(folder, `${name}.json`), JSON.stringify(saved));
  return { kind, location: `${name}.json`, version, directory: null };
}

export interface LoadedTiny {
  readonly model: TinyModel;
  readonly optimizer: Optimizer | null;
  readonly text: string;
  readonly maxLength: number;
  readonly version: number;
}

/** @throws TroupeError `bad_model` if the file is missing or invalid */
async function load({ saved, folder }: StoredPolicy): Promise<LoadedTiny> {
  const file = path.join(folder, saved.location);
  try {
    const found = JSON.parse(await readFile(file, "utf8")) as SavedTiny;
    const { model, optimizer, text, maxLength } = found;
    const state = optimizer && {
      steps: optimizer.steps,
      moments1: typed(optimizer.moments1),
      moments2: typed(optimizer.moments2),
    };
    const loaded = { ...model, tensors: typed(model.tensors) };
    return {
      model: loaded,
      optimizer: state,
      text: path.join(folder, text),
      maxLength,
      version: saved.version,
    };
  } catch (cause) {
    throw new TroupeError("bad_model", `${file} cannot be opened, or holds no tiny model.`, { cause });
  }
}

/** Replaces weights and version, and the optimizer's state if there is one. */
function restore(
  policy: TinyPolicy,
  { model, optimizer, version }: LoadedTiny,
  kind: SavedPolicy["kind"],
): void {
  if (shape(model) !== shape(policy.model))
    throw new TroupeError("bad_model", `What was saved is another model than that of ${policy.info.name}.`);
  if (kind === "checkpoint" && optimizer === null)
    throw new TroupeError("bad_model", "What was saved has no optimizer state.");
  checkBase(model, policy);
  policy.model = model;
  if (kind === "checkpoint" && optimizer !== null) policy.optimizer = optimizer;
  policy.version = version;
}

/** An adapter's file has its base's tensors too. */
function checkBase(adapted: TinyModel, { model: base }: { readonly model: TinyModel }): void {
  if (adapted.rank === 0) return;
  const differing = Object.entries(base.tensors).find(
    ([name, values]) =>
      !["up", "down", "score"].includes(name) &&
      (adapted.tensors[name] ?? values).some((each, i) => each !== values[i]),
  );
  if (differing === undefined) return;
  throw new TroupeError("bad_model", `The adapter was trained on another base: ${differing[0]} differs.`);
}

function shape({ tensors, scale }: TinyModel): string {
  return JSON.stringify([scale, ...Object.entries(tensors).map(([name, { length }]) => [name, length])]);
}

function plain(tensors: Tensors): Record<string, number[]> {
  return Object.fromEntries(Object.entries(tensors).map(([name, values]) => [name, [...values]]));
}

function typed(tensors: Readonly<Record<string, readonly number[]>>): Tensors {
  return Object.fromEntries(
    Object.entries(tensors).map(([name, values]) => [name, Float64Array.from(values)]),
  );
}

export interface FaultOptions {
  readonly seed?: number;
  /** Share of the calls that fail with a ServiceError, without effect. Default: 0. */
  readonly failing?: number;
  /** Most turns of the event loop by which a call, and its result, is delayed. Default: 0. */
  readonly delay?: number;
  readonly onFailure?: (verb: Verb) => unknown;
  /** Added to each log-probability of a sample: it is wrong by so much. Default: 0. */
  readonly logprobError?: number;
}

/** An engine behind a bad network: results arrive late and out of order, and some calls are lost. */
export function faultyEngine(
  engine: Engine,
  { seed = 1, failing = 0, delay = 0, onFailure, logprobError = 0 }: FaultOptions = {},
): Engine {
  const generator = generatorOf(rootKey(seed));
  const wait = async (): Promise<void> => {
    for (let ticks = drawInt(generator, delay + 1); ticks > 0; ticks--) await tick();
  };
  return engineAround(engine, async (verb, call) => {
    const fails = drawFloat(generator) < failing;
    await wait();
    if (fails) {
      onFailure?.(verb);
      throw new ServiceError(`${verb}: the connection was lost.`);
    }
    const answer = await call();
    if (verb === "sample" && logprobError !== 0)
      for (const { logprobs } of answer as readonly SampledSequence[])
        logprobs.set(logprobs.map((one) => one + logprobError));
    await wait();
    return answer;
  });
}
