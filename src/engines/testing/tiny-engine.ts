/**
 * An engine for tests: the verbs and losses of engine.ts on a model of a few hundred parameters (tiny-model.ts), in
 * TypeScript and float64, independent of the native engine. Vocabulary and length come from a model directory, weights
 * from a hash of the directory's name. It saves files of its own format, not model directories.
 */
import path from "node:path";
import { TroupeError } from "../../errors.ts";
import { checkAdapterOptions } from "../../models/adapter-options.ts";
import { describeModel } from "../../models/model-directory.ts";
import { keyAt, rootKey } from "../../random.ts";
import { loadTokenizer } from "../../text/tokenizer.ts";
import { checkData, policiesOf } from "../data.ts";
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
import { VerbOrder } from "../verb-order.ts";
import { asCritic, freshModel, isCritic, withAdapter } from "./tiny-model.ts";
import { passOver, topTokens } from "./tiny-pass.ts";
import { newPolicy, step, zeroGradients } from "./tiny-policy.ts";
import type { TinyPolicy } from "./tiny-policy.ts";
import { checkRequest, sampleSequence } from "./tiny-sampling.ts";
import { load, restore, save } from "./tiny-saves.ts";
import type { LoadedTiny } from "./tiny-saves.ts";

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
