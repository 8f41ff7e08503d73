/**
 * The verbs, executed by a server of the Tinker protocol. Verbs of a policy are submitted one after the other
 * (verb-order.ts): gradients and steps without waiting for the results of those before, which the server executes in
 * order. It samples from the weights at that time, which are published when they have changed: together with the step,
 * if the policy was sampled before it.
 */
import { TroupeError } from "../../errors.ts";
import {
  checkAdamOptions,
  checkCancellable,
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
  Cancellable,
  ForwardOptions,
  Datum,
  Engine,
  EngineCapabilities,
  PolicyCopy,
  Loss,
  LossResult,
  PolicyInfo,
  PolicyName,
  PolicyOptions,
  SampledSequence,
  SampleRequest,
  SavedPolicy,
  SavePlace,
  ServerLoad,
  StoredPolicy,
  UpdateResult,
} from "../engine.ts";
import { checkAdam } from "../kind.ts";
import { VerbOrder, type RunningChange } from "../verb-order.ts";
import { checkEngineOptions } from "./arguments.ts";
import type { RequestOptions } from "./client/requests.ts";
import { Session } from "./client/session.ts";
import { checkNumbers, passAll } from "./passes.ts";
import { Policies, Servers, type Sampler, type PlacedPolicy, type Server } from "./policies.ts";
import type { Profile } from "./profiles.ts";
import * as schema from "./protocol/schema.ts";
import { Publisher, checkRequest, sampleBody, sequencesOf } from "./sampling.ts";
import { savePolicy } from "./saving.ts";

/** What an engine is opened with. */
export interface TinkerEngineOptions {
  readonly url: string;
  readonly profile: Profile;
  readonly key?: string | undefined;
  /** The server's names of models. */
  readonly models?: Readonly<Record<string, string>>;
  /** Addresses of policies with a server of their own. */
  readonly servers?: Readonly<Record<PolicyName, string>>;
  readonly connections?: number;
  readonly requests?: Partial<RequestOptions>;
  /** Name of the run, for people who list sessions and weights at the server. */
  readonly run?: string;
}

export class TinkerEngine implements Engine {
  readonly capabilities: EngineCapabilities;
  readonly description: string;
  readonly arithmetic: Readonly<Record<string, string>>;
  /** Requests are repeated until their timeout. */
  readonly retries = true;
  readonly #profile: Profile;
  readonly #publisher: Publisher;
  readonly #servers: Servers;
  readonly #title: string | undefined;
  readonly #order = new VerbOrder();
  readonly #policies = new Map<PolicyName, PlacedPolicy>();
  #samples = 0;

  /** @throws TroupeError `bad_arguments` */
  constructor(options: TinkerEngineOptions) {
    checkEngineOptions(options);
    const { url, profile, key, models = {}, servers = {}, connections, requests, run } = options;
    this.#title = run;
    this.capabilities = profile.capabilities;
    this.description = `${profile.title} at ${new URL(url).origin}`;
    this.arithmetic = { server: profile.title };
    this.#profile = profile;
    this.#publisher = new Publisher(profile);
    const { chunkData, chunkBytes } = profile;
    const open = (address: string, owner: PolicyName | null): Server => {
      const session = new Session({ url: address, key, connections, requests, chunkData, chunkBytes, run });
      return { owner, session, policies: new Policies(session, profile, models) };
    };
    this.#servers = new Servers(open, url, servers);
  }

  get load(): readonly ServerLoad[] {
    return this.#servers.load;
  }

  failFast(): Disposable {
    return this.#servers.failFast();
  }

  createPolicy(options: PolicyOptions): Promise<PolicyInfo> {
    return this.#change([nameOf(options)], async () => {
      checkPolicyOptions(options);
      if (options.name === "" || this.#policies.has(options.name)) throw nameInUse(options.name);
      const server = this.#servers.of(options);
      const policy = { ...(await server.policies.create(options)), server };
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

  sample(request: SampleRequest, options: Cancellable = {}): Promise<SampledSequence[]> {
    const signal = signalOf(options);
    return this.#read([policyOf(request)], signal, async () => {
      checkSampleRequest(request, options);
      const policy = this.#policy(request.policy);
      if (policy.critic)
        throw new TroupeError("bad_arguments", `${request.policy} is a critic, which writes no tokens.`);
      const { version } = policy;
      policy.isSampled = true;
      return this.#sampleFrom(policy, () => this.#publisher.sampler(policy), version, request, signal);
    });
  }

  /** A sampling session of these weights, which later steps neither change nor wait for. */
  copy(name: PolicyName): Promise<PolicyCopy> {
    return this.#read([name], undefined, async () => {
      const policy = this.#policy(name);
      const { version } = policy;
      const { sampler, release } = await this.#publisher.copy(policy);
      return {
        sample: (request, options = {}) => {
          const signal = signalOf(options);
          return this.#run(async () => {
            checkSampleRequest(request, options);
            return this.#sampleFrom(policy, async () => sampler, version, request, signal);
          }, signal);
        },
        release,
      };
    });
  }

  forward(data: readonly Datum[], options: ForwardOptions = {}): Promise<LossResult> {
    const signal = signalOf(options);
    return this.#read(policiesOf(data), signal, async () => {
      checkCancellable(options);
      if (options.top !== undefined)
        throw new TroupeError("unsupported", "`top` of forward is not supported by Tinker servers.");
      return this.#pass(data, undefined, signal);
    });
  }

  forwardBackward(data: readonly Datum[], loss: Loss, options: Cancellable = {}): Promise<LossResult> {
    const signal = signalOf(options);
    const run = async ({ letNextStart }: RunningChange): Promise<LossResult> => {
      checkLoss(loss);
      checkCancellable(options);
      return this.#pass(data, loss, signal, letNextStart);
    };
    return this.#change(policiesOf(data), run, signal);
  }

  optimStep(name: PolicyName, adam: AdamOptions): Promise<UpdateResult> {
    return this.#change([name], async ({ letNextStart, isLast }) => {
      const policy = this.#policy(name);
      checkAdamOptions(adam);
      checkNumbers(adam);
      checkAdam(adam, this.capabilities, this.#profile.title);
      if (this.#profile.keepsAdam === true) keepAdam(policy, adam, this.#profile.title);
      policy.sampler = null;
      let submitted = 0;
      const onSubmitted = (): void => {
        submitted = 1;
        policy.version += 1;
        policy.gradients = 0;
        if (policy.isSampled && isLast()) this.#publisher.publishNow(policy, letNextStart);
        else letNextStart();
      };
      try {
        const { grad_norm: gradientNorm } = await policy.model.optimStep(adam, onSubmitted);
        return gradientNorm === undefined || !this.capabilities.gradientNorm ? {} : { gradientNorm };
      } catch (error) {
        // Steps after this one may have been submitted, or have failed, in the meantime.
        policy.version -= submitted;
        policy.sampler = null;
        throw error;
      }
    });
  }

  snapshot(name: PolicyName, place: SavePlace): Promise<SavedPolicy> {
    return this.#save("snapshot", name, place);
  }

  checkpoint(name: PolicyName, place: SavePlace): Promise<SavedPolicy> {
    return this.#save("checkpoint", name, place);
  }

  restore(name: PolicyName, stored: StoredPolicy): Promise<void> {
    return this.#change([name], async () => {
      const policy = this.#policy(name);
      checkStored(stored);
      policy.sampler = null;
      await policy.server.policies.restore(policy, stored);
      policy.version = stored.saved.version;
      policy.gradients = 0;
    });
  }

  async close(): Promise<void> {
    this.#order.close();
    this.#policies.clear();
    await this.#servers.close();
  }

  #read<T>(
    policies: readonly PolicyName[],
    signal: AbortSignal | undefined,
    work: () => Promise<T>,
  ): Promise<T> {
    return this.#order.read(policies, () => this.#run(work, signal), signal);
  }

  #change<T>(
    policies: readonly PolicyName[],
    work: (running: RunningChange) => Promise<T>,
    signal?: AbortSignal,
  ): Promise<T> {
    return this.#order.change(policies, (running) => this.#run(() => work(running), signal), signal);
  }

  async #run<T>(work: () => Promise<T>, signal: AbortSignal | undefined): Promise<T> {
    if (this.#servers.isClosed) throw new TroupeError("bad_arguments", "The engine is closed.");
    if (signal?.aborted === true) throw new TroupeError("cancelled", "Cancelled before it began.");
    return work();
  }

  async #sampleFrom(
    { info, server }: PlacedPolicy,
    samplerOf: () => Promise<Sampler>,
    version: number,
    request: SampleRequest,
    signal: AbortSignal | undefined,
  ): Promise<SampledSequence[]> {
    checkRequest(request, info, this.capabilities);
    const { id, completions } = await samplerOf();
    const body = {
      ...sampleBody(request, info, this.#profile),
      sampling_session_id: id,
      seq_id: this.#samples++,
    };
    const outgoing = {
      ...schema.request("asample", body),
      wantsProto: this.#profile.encoding === "protobuf",
    };
    const waiting = { signal, isCancellable: this.#profile.cancels, completions };
    const found = await server.session.requests.run(outgoing, waiting);
    return sequencesOf(found, request, info, version, this.#profile);
  }

  #pass(
    data: readonly Datum[],
    loss: Loss | undefined,
    signal: AbortSignal | undefined,
    onSubmitted?: () => void,
  ): Promise<LossResult> {
    const placed = (name: PolicyName): PlacedPolicy => this.#policy(name);
    return passAll({ policyOf: placed, profile: this.#profile, signal, onSubmitted }, data, loss);
  }

  #save(kind: SavedPolicy["kind"], name: PolicyName, place: SavePlace): Promise<SavedPolicy> {
    return this.#read([name], undefined, async () => {
      const policy = this.#policy(name);
      checkPlace(place);
      return savePolicy(policy, place, { kind, profile: this.#profile, run: this.#title });
    });
  }

  #policy(name: PolicyName): PlacedPolicy {
    const policy = this.#policies.get(name);
    if (policy !== undefined) return policy;
    const known = [...this.#policies.keys()].join(", ") || "none";
    throw new TroupeError("bad_arguments", `There is no policy ${quoted(name)}; there is: ${known}.`);
  }
}

/** @throws TroupeError `unsupported` for another than that of the first step, but for its learning rate */
function keepAdam(policy: PlacedPolicy, adam: AdamOptions, title: string): void {
  policy.adam ??= adam;
  const fields = Object.keys(adam) as (keyof AdamOptions)[];
  const changed = fields.find((field) => field !== "learningRate" && adam[field] !== policy.adam?.[field]);
  if (changed === undefined) return;
  throw new TroupeError(
    "unsupported",
    `${title} keeps the ${changed} of a policy's first step, ${policy.adam[changed]}; it cannot be ${adam[changed]} later. Give warmStart and train the same.`,
  );
}

function nameInUse(name: string): TroupeError {
  return new TroupeError("bad_arguments", `The policy name ${JSON.stringify(name)} is empty or in use.`);
}
