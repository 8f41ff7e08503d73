/** Policies at servers: how they are made and restored, and at which server each one is. */
import { basename, join, resolve } from "node:path";
import { TroupeError } from "../../errors.ts";
import { checkAdapterOptions, projections, type AdapterOptions } from "../../models/adapter-options.ts";
import {
  adapterParameters,
  describeModel,
  modelTensors,
  parametersOf,
} from "../../models/model-directory.ts";
import { isPresentSync } from "../../present.ts";
import type {
  AdamOptions,
  PolicyInfo,
  PolicyName,
  PolicyOptions,
  StoredPolicy,
  ServerLoad,
} from "../engine.ts";
import { checkAdapter } from "../kind.ts";
import { parsed } from "./client/answers.ts";
import { RemoteModel } from "./client/model.ts";
import type { Completions } from "./client/requests.ts";
import type { Session } from "./client/session.ts";
import { pass } from "./passes.ts";
import type { Profile } from "./profiles.ts";
import * as schema from "./protocol/schema.ts";
import { readLocation, type Origin } from "./saving.ts";
import { checkTokenizer } from "./tokenizers.ts";

/** A sampling session. */
export interface Sampler {
  readonly id: string;
  readonly completions: Completions | undefined;
}

export interface Policy {
  model: RemoteModel;
  readonly info: PolicyInfo;
  readonly critic: boolean;
  readonly origin: Origin;
  /** Optimizer steps of the weights. */
  version: number;
  /** Calls of forwardBackward since the last step. */
  gradients: number;
  /** The sampling session of the current weights; null: they were not published yet. */
  sampler: Promise<Sampler> | null;
  /** Of its first step, where the server keeps it. */
  adam?: AdamOptions;
  /** It was sampled since its weights were last published with a step. */
  isSampled: boolean;
}

export class Policies {
  readonly #session: Session;
  readonly #profile: Profile;
  readonly #names: Readonly<Record<string, string>>;
  /** Directories whose tokenizers were compared with the server's. */
  readonly #checked = new Set<string>();

  /** `names`: the server's names of models, by the caller's. */
  constructor(session: Session, profile: Profile, names: Readonly<Record<string, string>>) {
    this.#session = session;
    this.#profile = profile;
    this.#names = names;
  }

  /** @throws TroupeError `unsupported` for an adapter that the server cannot have */
  async create(options: PolicyOptions): Promise<Policy> {
    const { name, from, valueHead: critic = false } = options;
    const origin = originOf(options);
    if (options.adapter !== undefined) checkAdapterOptions(options.adapter);
    if (origin.adapter !== null)
      checkAdapter(origin.adapter, this.#profile.capabilities, this.#profile.title);
    if (critic && !this.#profile.capabilities.critic)
      throw new TroupeError("unsupported", `${this.#profile.title} has no critics.`);
    const stored = from ?? (typeof options.model === "string" ? undefined : options.model);
    const model = await this.#made(options, origin, critic);
    const version = stored?.saved.version ?? 0;
    return {
      model,
      info: await this.#info(name, model, origin, critic),
      critic,
      origin,
      version,
      gradients: 0,
      sampler: null,
      isSampled: false,
    };
  }

  /** Some servers load weights into new models only. */
  async restore(policy: Policy, stored: StoredPolicy): Promise<void> {
    const withOptimizer = stored.saved.kind === "checkpoint";
    const path = pathOf(stored, this.#profile);
    if (this.#profile.load === "any time") return policy.model.loadWeights(path, withOptimizer);
    const before = policy.model;
    policy.model = await this.#loaded(policy.info.name, policy.origin, stored, withOptimizer);
    return before.unload();
  }

  /** Weights are in it from the beginning, or loaded into it. */
  async #made(options: PolicyOptions, origin: Origin, critic: boolean): Promise<RemoteModel> {
    const { name, model, from, adapter } = options;
    const stored = typeof model === "string" ? undefined : model;
    if (!this.#profile.createsFromWeights) {
      checkBase(options, this.#profile);
      return this.#loaded(name, origin, from ?? stored, false);
    }
    const more = {
      ...(critic ? ({ model_role: "critic" } as const) : {}),
      ...(from === undefined ? {} : { initial_weights: readLocation(from.saved).path }),
    };
    if (stored === undefined) return this.#fresh(name, origin, more);
    return this.#submit("load_weights", {
      ...more,
      ...(adapter === undefined ? {} : { lora_config: loraConfig(adapter, this.#profile) }),
      user_metadata: { policy: name },
      path: readLocation(stored.saved).path,
      optimizer: false,
    });
  }

  /** A fresh model, into which saved weights are loaded. */
  async #loaded(
    name: PolicyName,
    origin: Origin,
    stored: StoredPolicy | undefined,
    withOptimizer: boolean,
  ): Promise<RemoteModel> {
    const made = await this.#fresh(name, origin, {});
    if (stored !== undefined) await made.loadWeights(pathOf(stored, this.#profile), withOptimizer);
    return made;
  }

  async #fresh(
    name: PolicyName,
    { model, adapter }: Origin,
    more: Pick<schema.Bodies["create_model"], "model_role" | "initial_weights">,
  ): Promise<RemoteModel> {
    const lora = loraConfig(adapter, this.#profile);
    return this.#submit("create_model", {
      base_model: await this.#serverName(model),
      user_metadata: { policy: name },
      ...(lora === null ? {} : { lora_config: lora }),
      ...more,
    });
  }

  async #submit<Path extends "create_model" | "load_weights">(
    path: Path,
    more: Omit<schema.Bodies[Path], "session_id" | "model_seq_id" | "type">,
  ): Promise<RemoteModel> {
    const { id } = await this.#session.open();
    const body = { session_id: id, model_seq_id: this.#session.nextNumber(), ...more, type: path };
    const created = await this.#session.requests.run({ path, body });
    const { model_id: modelId } = parsed(schema.modelCreated, created, path);
    return new RemoteModel(this.#session, modelId, this.#profile);
  }

  /** A directory is known to the server by its name. @throws TroupeError `bad_model` */
  async #serverName(model: string): Promise<string> {
    const { models } = await this.#session.open();
    // A preset is in a folder of the run, or a temporary one: only its name means something to people.
    const name = basename(resolve(model));
    const given = [model, name].find((one) => Object.hasOwn(this.#names, one));
    const mapped = given === undefined ? undefined : this.#names[given];
    if (mapped !== undefined) return mapped;
    const found = [model, name].find((one) => models.includes(one));
    if (found !== undefined) return found;
    const fix = `It has ${models.join(", ") || "none"}; name one of them in engine.models.`;
    throw new TroupeError("bad_model", `The server has no model ${JSON.stringify(name)}. ${fix}`);
  }

  async #info(
    name: PolicyName,
    remote: RemoteModel,
    { model, adapter }: Origin,
    critic: boolean,
  ): Promise<PolicyInfo> {
    const request = schema.request("get_info", { model_id: remote.id, type: "get_info" });
    const found = await this.#session.requests.send(request);
    const told = parsed(schema.modelInfo, found, "get_info");
    const { sizes } = told;
    const info = sizes ? toldInfo(name, sizes) : await localInfo(name, model, adapter);
    if (critic || this.#checked.has(model)) return info;
    const unchecked = await this.#checkTokenizer(remote, model, told, info);
    this.#checked.add(model);
    return unchecked === null ? info : { ...info, uncheckedTokenizer: unchecked };
  }

  #checkTokenizer(
    model: RemoteModel,
    directory: string,
    told: schema.ModelInfo,
    { name, vocabularySize, maxLength }: PolicyInfo,
  ): Promise<string | null> {
    const of = { model, critic: false, profile: this.#profile, signal: undefined };
    return checkTokenizer({
      directory,
      told,
      isLocal: this.#session.isLocal,
      vocabularySize,
      maxLength,
      score: async (prompt, continuation) => {
        const data = [{ policy: name, prompt, continuations: [continuation] }];
        return (await pass(of, data, undefined)).logprobs[0] ?? new Float32Array();
      },
    });
  }
}

/** As the server calls saved weights. */
function pathOf({ saved }: StoredPolicy, { savesFolders = false }: Profile): string {
  const { path } = readLocation(saved);
  return savesFolders ? basename(path) : path;
}

function toldInfo(name: PolicyName, sizes: NonNullable<schema.ModelInfo["sizes"]>): PolicyInfo {
  return {
    name,
    parameters: sizes.parameters,
    trainableParameters: sizes.trainable_parameters,
    maxLength: sizes.max_length,
    vocabularySize: sizes.vocabulary_size,
  };
}

function originOf({ model, adapter }: PolicyOptions): Origin {
  if (typeof model === "string") return { model, adapter: adapter ?? null };
  if (model === undefined)
    throw new TroupeError("bad_arguments", "`model` of a policy must name a model, or be saved weights.");
  const { origin } = readLocation(model.saved);
  return { model: origin?.model ?? "", adapter: adapter ?? origin?.adapter ?? null };
}

/** Adapters are on the server's models, not on saved ones. @throws TroupeError `unsupported` */
function checkBase({ name, model, from, adapter }: PolicyOptions, { title }: Profile): void {
  if (typeof model === "string" || readLocation(model.saved).origin?.adapter != null) return;
  const start = from && readLocation(from.saved).origin?.adapter;
  if (adapter === undefined && start == null) return;
  throw new TroupeError(
    "unsupported",
    `${title} makes no adapters on saved weights, as ${name} would be. Use a server of Troupe or the local engine.`,
  );
}

/** Null: none is sent. Of parts, servers choose the scale; a check before ensures that it is the adapter's. */
function loraConfig(adapter: AdapterOptions | null, { adapters, wholeModel }: Profile) {
  if (adapter === null && wholeModel === "no lora_config") return null;
  const { rank, seed, alpha, targetModules } = adapter ?? wholeAsAdapter;
  if (adapters === "shape") return { rank, seed, alpha, target_modules: [...targetModules] };
  return {
    rank,
    ...(adapter === null ? {} : { seed }),
    ...(adapters === "peft" ? { lora_alpha: alpha, lora_dropout: 0 } : {}),
    train_attn: targetModules.includes("q_proj"),
    train_mlp: targetModules.includes("up_proj"),
    train_unembed: false,
  };
}

/** Rank 0 is a whole model. */
const wholeAsAdapter: AdapterOptions = { rank: 0, alpha: 32, targetModules: projections, seed: 0 };

/** Sizes from the directory that the recipe names: its config.json must be that of the server's model. */
async function localInfo(
  name: PolicyName,
  model: string,
  adapter: AdapterOptions | null,
): Promise<PolicyInfo> {
  if (!isPresentSync(join(model, "config.json")))
    throw new TroupeError(
      "unsupported",
      `The server does not say how large ${JSON.stringify(model)} is: name a directory with its config.json and tokenizer.`,
    );
  const { shape } = await describeModel(model);
  const tensors = modelTensors(shape);
  const parameters = parametersOf(tensors);
  const added = adapter === null ? 0 : adapterParameters(tensors, adapter);
  const { maxLength, vocabularySize } = shape;
  return {
    name,
    parameters: parameters + added,
    trainableParameters: adapter === null ? parameters : added,
    maxLength,
    vocabularySize,
  };
}

export interface Server {
  /** The policy whose own server it is; null: that of all others. */
  readonly owner: PolicyName | null;
  readonly session: Session;
  readonly policies: Policies;
}

/** A policy, and where it is. */
export interface PlacedPolicy extends Policy {
  readonly server: Server;
}

export class Servers {
  readonly #shared: Server;
  readonly #own: ReadonlyMap<PolicyName, Server>;
  #isClosed = false;

  /** @param own addresses by policy */
  constructor(
    open: (url: string, owner: PolicyName | null) => Server,
    url: string,
    own: Readonly<Record<PolicyName, string>>,
  ) {
    this.#shared = open(url, null);
    this.#own = new Map(Object.entries(own).map(([policy, address]) => [policy, open(address, policy)]));
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Where its weights were saved; for a new policy its own server, if it has one. */
  of({ name, model, from }: PolicyOptions): Server {
    const stored = from ?? (typeof model === "string" ? undefined : model);
    if (stored === undefined) return this.#own.get(name) ?? this.#shared;
    return this.#own.get(readLocation(stored.saved).server ?? "") ?? this.#shared;
  }

  get load(): readonly ServerLoad[] {
    return [this.#shared, ...this.#own.values()].map(({ session }) => session.requests.queue.now);
  }

  failFast(): Disposable {
    const all = new DisposableStack();
    for (const { session } of [this.#shared, ...this.#own.values()]) all.use(session.requests.failFast());
    return all;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    const all = [this.#shared, ...this.#own.values()];
    await Promise.all(all.map(({ session }) => session.close()));
  }
}
