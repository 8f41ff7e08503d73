/**
 * The verbs, executed by a server of the Tinker protocol. Verbs of a policy are submitted one after the other
 * (verb-order.ts); the server samples from the weights at that time, which are published when they have changed.
 */
import { basename, resolve } from "node:path";
import { z } from "zod";
import { TroupeError } from "../../errors.ts";
import { checkAdapterOptions } from "../../models/adapter-options.ts";
import { checkData, policiesOf } from "../data.ts";
import type {
  AdamOptions,
  Cancellable,
  Datum,
  Engine,
  EngineCapabilities,
  Loss,
  LossResult,
  PolicyInfo,
  PolicyName,
  PolicyOptions,
  SampledSequence,
  SampleRequest,
  SavedPolicy,
  SavePlace,
  StoredPolicy,
  UpdateResult,
} from "../engine.ts";
import { VerbOrder } from "../verb-order.ts";
import { parsed } from "./client/answers.ts";
import { RemoteModel } from "./client/model.ts";
import type { RequestOptions } from "./client/requests.ts";
import { Session } from "./client/session.ts";
import { lossResult, mergedResults } from "./loss-result.ts";
import type { Profile } from "./profiles/profile.ts";
import { lossConfig, lossName, wireData } from "./protocol/losses.ts";
import * as schema from "./protocol/schema.ts";
import { checkIds, checkRequest, sampleBody, sequencesOf } from "./sampling.ts";

export interface TinkerEngineOptions {
  readonly url: string;
  readonly profile: Profile;
  readonly key?: string | undefined;
  /** The server's names of models. */
  readonly models?: Readonly<Record<string, string>>;
  readonly connections?: number;
  readonly requests?: Partial<RequestOptions>;
}

interface Policy {
  readonly model: RemoteModel;
  readonly info: PolicyInfo;
  readonly critic: boolean;
  /** Optimizer steps of the weights. */
  version: number;
  /** The sampling session of the current weights; null: they were not published yet. */
  sampler: Promise<string> | null;
}

const modelCreated = z.object({ model_id: z.string() });

export class TinkerEngine implements Engine {
  readonly capabilities: EngineCapabilities;
  readonly description: string;
  readonly arithmetic: Readonly<Record<string, string>>;
  /** Requests are repeated until the patience ends. */
  readonly retries = true;
  readonly #profile: Profile;
  readonly #names: Readonly<Record<string, string>>;
  readonly #session: Session;
  readonly #order = new VerbOrder();
  readonly #policies = new Map<PolicyName, Policy>();
  #samples = 0;

  /** @throws TroupeError `bad_arguments` if `url` is no HTTP address */
  constructor({ url, profile, key, models = {}, connections, requests }: TinkerEngineOptions) {
    this.capabilities = profile.capabilities;
    this.description = `${profile.title} at ${new URL(url).origin}`;
    this.arithmetic = { server: profile.title };
    this.#profile = profile;
    this.#names = models;
    const { chunkData, chunkBytes } = profile;
    this.#session = new Session({ url, key, connections, requests, chunkData, chunkBytes });
  }

  createPolicy(options: PolicyOptions): Promise<PolicyInfo> {
    return this.#change([options.name], async () => {
      if (options.name === "" || this.#policies.has(options.name)) throw nameInUse(options.name);
      if (options.adapter !== undefined) checkAdapterOptions(options.adapter);
      const policy = await this.#create(options);
      this.#policies.set(options.name, policy);
      return policy.info;
    });
  }

  removePolicy(name: PolicyName): Promise<void> {
    return this.#change([name], async () => {
      await this.#policy(name).model.unload();
      this.#policies.delete(name);
    });
  }

  sample(request: SampleRequest, { signal }: Cancellable = {}): Promise<SampledSequence[]> {
    return this.#read([request.policy], signal, async () => {
      const policy = this.#policy(request.policy);
      const { version } = policy;
      if (policy.critic)
        throw new TroupeError("bad_arguments", `${request.policy} is a critic, which writes no tokens.`);
      checkRequest(request, policy.info);
      const body = {
        ...sampleBody(request, policy.info, this.#profile.isTroupe),
        sampling_session_id: await this.#sampler(policy),
        seq_id: this.#samples++,
      };
      const outgoing = { path: "asample", body, wantsProto: this.#profile.encoding === "protobuf" };
      const found = await this.#session.requests.run(outgoing, {
        signal,
        isCancellable: this.#profile.isTroupe,
      });
      return sequencesOf(found, request, version);
    });
  }

  forward(data: readonly Datum[], { signal }: Cancellable = {}): Promise<LossResult> {
    return this.#read(policiesOf(data), signal, () => this.#pass(data, undefined, signal));
  }

  forwardBackward(data: readonly Datum[], loss: Loss, { signal }: Cancellable = {}): Promise<LossResult> {
    return this.#change(policiesOf(data), () => this.#pass(data, loss, signal), signal);
  }

  optimStep(name: PolicyName, adam: AdamOptions): Promise<UpdateResult> {
    return this.#change([name], async () => {
      const policy = this.#policy(name);
      checkAdam(adam);
      policy.sampler = null;
      const { grad_norm: gradientNorm } = await policy.model.optimStep(adam);
      policy.version += 1;
      return gradientNorm === undefined ? {} : { gradientNorm };
    });
  }

  snapshot(name: PolicyName, place: SavePlace): Promise<SavedPolicy> {
    return this.#save("snapshot", name, place);
  }

  checkpoint(name: PolicyName, place: SavePlace): Promise<SavedPolicy> {
    return this.#save("checkpoint", name, place);
  }

  restore(name: PolicyName, { saved }: StoredPolicy): Promise<void> {
    return this.#change([name], async () => {
      const policy = this.#policy(name);
      checkLocation(saved);
      policy.sampler = null;
      await policy.model.loadWeights(saved.location, saved.kind === "checkpoint");
      policy.version = saved.version;
    });
  }

  async close(): Promise<void> {
    this.#order.close();
    this.#policies.clear();
    await this.#session.close();
  }

  #read<T>(
    policies: readonly PolicyName[],
    signal: AbortSignal | undefined,
    work: () => Promise<T>,
  ): Promise<T> {
    return this.#order.read(policies, () => this.#run(work, signal), signal);
  }

  #change<T>(policies: readonly PolicyName[], work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    return this.#order.change(policies, () => this.#run(work, signal), signal);
  }

  async #run<T>(work: () => Promise<T>, signal: AbortSignal | undefined): Promise<T> {
    if (this.#session.isClosed) throw new TroupeError("bad_arguments", "The engine is closed.");
    if (signal?.aborted === true) throw new TroupeError("cancelled", "Cancelled before it began.");
    return work();
  }

  async #create(options: PolicyOptions): Promise<Policy> {
    const { name, model, from, adapter, valueHead: critic = false } = options;
    const { id: session, models } = await this.#session.open();
    const number = { session_id: session, model_seq_id: this.#session.nextNumber() };
    const role = critic ? { model_role: "critic" } : {};
    const outgoing =
      typeof model === "string" || model === undefined
        ? {
            path: "create_model",
            body: { ...number, ...role, ...this.#fresh(models, options), type: "create_model" },
          }
        : { path: "load_weights", body: { ...number, ...role, ...loaded(model), type: "load_weights" } };
    const created = await this.#session.requests.run(outgoing);
    const { model_id: id } = parsed(modelCreated, created, outgoing.path);
    const remote = new RemoteModel(this.#session, id, this.#profile.encoding);
    const version = (from ?? (typeof model === "object" ? model : undefined))?.saved.version ?? 0;
    if (adapter !== undefined && typeof model === "object") checkLocation(model.saved);
    return { model: remote, info: await this.#info(name, id), critic, version, sampler: null };
  }

  #fresh(models: readonly string[], { model, from, adapter }: PolicyOptions) {
    if (typeof model !== "string")
      throw new TroupeError("bad_arguments", "`model` of a policy must name a model, or be saved weights.");
    const lora = adapter && {
      rank: adapter.rank,
      seed: adapter.seed,
      alpha: adapter.alpha,
      target_modules: adapter.targetModules,
    };
    if (from !== undefined) checkLocation(from.saved);
    return {
      base_model: this.#serverName(model, models),
      ...(lora === undefined ? {} : { lora_config: lora }),
      ...(from === undefined ? {} : { initial_weights: from.saved.location }),
    };
  }

  /** A directory is known to the server by its name. @throws TroupeError `bad_model` */
  #serverName(model: string, models: readonly string[]): string {
    const mapped = this.#names[model];
    if (mapped !== undefined) return mapped;
    const found = [model, basename(resolve(model))].find((name) => models.includes(name));
    if (found !== undefined) return found;
    throw new TroupeError(
      "bad_model",
      `The server has no model ${JSON.stringify(model)}; it has ${models.join(", ")}. Name one of them in engine.models.`,
    );
  }

  async #info(name: PolicyName, id: string): Promise<PolicyInfo> {
    const found = await this.#session.requests.send({
      path: "get_info",
      body: { model_id: id, type: "get_info" },
    });
    const { sizes } = parsed(schema.modelInfo, found, "get_info");
    if (sizes === undefined)
      throw new TroupeError("unsupported", "The server does not say how large its model is.");
    return {
      name,
      parameters: sizes.parameters,
      trainableParameters: sizes.trainable_parameters,
      maxLength: sizes.max_length,
      vocabularySize: sizes.vocabulary_size,
    };
  }

  #sampler(policy: Policy): Promise<string> {
    const kind = this.#profile.snapshots === "inflight" ? "inflight" : "snapshot";
    policy.sampler ??= policy.model.sampler(kind).catch((error: unknown) => {
      policy.sampler = null;
      throw error;
    });
    return policy.sampler;
  }

  /** Every policy's data is checked before the first is sent. `loss` absent: without gradients. */
  async #pass(
    data: readonly Datum[],
    loss: Loss | undefined,
    signal: AbortSignal | undefined,
  ): Promise<LossResult> {
    checkData(data, loss);
    for (const datum of data) checkDatum(datum, this.#policy(datum.policy), loss);
    const results = new Map<PolicyName, LossResult>();
    for (const name of policiesOf(data)) {
      const own = data.filter(({ policy }) => policy === name);
      results.set(name, await this.#passOne(this.#policy(name), own, loss, signal));
    }
    const owners = data.flatMap(({ policy, continuations }) => continuations.map(() => policy));
    return mergedResults(owners, results);
  }

  async #passOne(
    { model, critic }: Policy,
    data: readonly Datum[],
    loss: Loss | undefined,
    signal: AbortSignal | undefined,
  ): Promise<LossResult> {
    const request = {
      loss: loss === undefined ? "cross_entropy" : lossName(loss),
      config: loss === undefined ? {} : lossConfig(loss),
      data: wireData(data, loss),
      forwardOnly: loss === undefined,
    };
    const outputs = await model.forwardBackward(request, { signal, isCancellable: this.#profile.isTroupe });
    return lossResult(data, outputs, critic);
  }

  /** The server's name has the version and chance in it: an earlier save may still be referred to. */
  #save(kind: SavedPolicy["kind"], name: PolicyName, place: SavePlace): Promise<SavedPolicy> {
    return this.#read([name], undefined, async () => {
      const { model, version } = this.#policy(name);
      const unique = `${place.name.replaceAll(/[^\w.-]/g, "-")}-${version}-${crypto.randomUUID().slice(0, 8)}`;
      const save = kind === "checkpoint" ? model.saveWeights(unique) : model.saveWeightsForSampler(unique);
      return { kind, location: await save, version, directory: null };
    });
  }

  #policy(name: PolicyName): Policy {
    const policy = this.#policies.get(name);
    if (policy !== undefined) return policy;
    const known = [...this.#policies.keys()].join(", ") || "none";
    throw new TroupeError("bad_arguments", `There is no policy ${JSON.stringify(name)}; there is: ${known}.`);
  }
}

function loaded({ saved }: StoredPolicy) {
  checkLocation(saved);
  return { path: saved.location, optimizer: false };
}

/** @throws TroupeError `bad_model` for what another engine saved */
function checkLocation({ location }: SavedPolicy): void {
  if (location.startsWith("tinker://")) return;
  throw new TroupeError(
    "bad_model",
    `${JSON.stringify(location)} was not saved by a server of the Tinker protocol.`,
  );
}

function checkDatum(
  { policy, prompt, continuations }: Datum,
  { info, critic }: Policy,
  loss: Loss | undefined,
): void {
  if (loss !== undefined && (loss.type === "value") !== critic)
    throw new TroupeError(
      "bad_arguments",
      `${policy} is ${critic ? "a" : "no"} critic; ${loss.type} is not its loss.`,
    );
  if (continuations.length === 0)
    throw new TroupeError("bad_shape", `Data of ${policy} have no continuations.`);
  for (const tokens of [prompt, ...continuations.map((each) => each.tokens)]) {
    if (tokens.length === 0) throw new TroupeError("bad_shape", `Data of ${policy} have no tokens.`);
    checkIds(tokens, info, "Data");
  }
  const longest = prompt.length + Math.max(...continuations.map(({ tokens }) => tokens.length));
  if (longest > info.maxLength)
    throw new TroupeError("too_long", `${longest} tokens are more than the ${info.maxLength} of ${policy}.`);
}

function checkAdam(adam: AdamOptions): void {
  for (const [name, value] of Object.entries(adam))
    if (!(value >= 0) || !Number.isFinite(value))
      throw new TroupeError(
        "bad_arguments",
        `${name} of the optimizer is ${value}; expected a number of at least 0.`,
      );
}

function nameInUse(name: string): TroupeError {
  return new TroupeError("bad_arguments", `The policy name ${JSON.stringify(name)} is empty or in use.`);
}
