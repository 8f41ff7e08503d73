/**
 * An engine without a model that answers as late as a server would, for measuring what Troupe itself costs. Its replies
 * are drawn from a bank of token sequences.
 */
import fs from "node:fs/promises";
import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type {
  Datum,
  Engine,
  LossResult,
  PolicyInfo,
  PolicyOptions,
  SampleRequest,
  SampledSequence,
  SavedPolicy,
  SavePlace,
} from "../../src/engines/engine.ts";
import { engineKinds } from "../../src/engines/open.ts";
import { drawInt, generatorOf, rootKey } from "../../src/random.ts";

/** A server's speed. Defaults: one machine with 8 GPUs and a model of a few billion parameters. */
export interface Service {
  /** New tokens per second of all sequences together. */
  readonly capacity: number;
  /** Most new tokens per second of one sequence. */
  readonly perSequence: number;
  /** Seconds until a first token. */
  readonly firstToken: number;
  /** Tokens trained per second. */
  readonly training: number;
  /** Seconds of an optimizer step, and of making new weights available to the sampler. */
  readonly update: number;
}

export const oneMachine: Service = {
  capacity: 30_000,
  perSequence: 60,
  firstToken: 0.3,
  training: 40_000,
  update: 2,
};

export interface SimulatedEngineOptions {
  readonly service: Service;
  /** Simulated seconds in a second; infinite: everything at once. */
  readonly speed: number;
  readonly replies: readonly Int32Array[];
  readonly vocabularySize: number;
}

export class SimulatedEngine implements Engine {
  readonly capabilities = engineKinds.local.capabilities({});
  readonly description = "simulated";
  readonly arithmetic = {};
  /** Requests answered, and their tokens. */
  readonly answered = { requests: 0, sequences: 0, tokens: 0 };
  mostAtOnce = 0;
  /** Seconds that the server needs for all this at full load. */
  busySeconds = 0;
  readonly #options: SimulatedEngineOptions;
  readonly #versions = new Map<string, number>();
  #active = 0;

  constructor(options: SimulatedEngineOptions) {
    this.#options = options;
  }

  async createPolicy({ name }: PolicyOptions): Promise<PolicyInfo> {
    this.#versions.set(name, 0);
    const { vocabularySize } = this.#options;
    return { name, parameters: 1, trainableParameters: 1, maxLength: 32_768, vocabularySize };
  }

  async removePolicy(name: string): Promise<void> {
    this.#versions.delete(name);
  }

  async sample(request: SampleRequest, options?: { signal?: AbortSignal }): Promise<SampledSequence[]> {
    const generator = generatorOf(rootKey(request.seed));
    const { replies } = this.#options;
    const drawn = Array.from(
      { length: request.count },
      () => replies[drawInt(generator, replies.length)] as Int32Array,
    );
    await this.#write(drawn, options?.signal);
    const policyVersion = this.#versions.get(request.policy) ?? 0;
    return drawn.map((reply) => {
      const tokens = reply.slice(0, request.maxTokens);
      const logprobs = new Float32Array(tokens.length).fill(-1);
      return {
        tokens,
        logprobs,
        stopReason: tokens.length < reply.length ? "length" : "stop",
        policyVersion,
      };
    });
  }

  /** As long as the longest, at the rate that the sequences in progress leave each other. */
  async #write(replies: readonly Int32Array[], signal: AbortSignal | undefined): Promise<void> {
    const { capacity, perSequence, firstToken } = this.#options.service;
    this.#active += replies.length;
    this.mostAtOnce = Math.max(this.mostAtOnce, this.#active);
    const longest = Math.max(...replies.map(({ length }) => length));
    await this.#wait(firstToken + longest / Math.min(perSequence, capacity / this.#active), signal);
    this.#active -= replies.length;
    this.answered.requests += 1;
    this.answered.sequences += replies.length;
    const tokens = replies.reduce((total, { length }) => total + length, 0);
    this.answered.tokens += tokens;
    this.busySeconds += tokens / capacity;
  }

  /** A third of a forward and backward pass. */
  forward(data: readonly Datum[], options?: { signal?: AbortSignal }): Promise<LossResult> {
    return this.#pass(data, 1 / 3, options?.signal);
  }

  async #pass(data: readonly Datum[], share: number, signal: AbortSignal | undefined): Promise<LossResult> {
    const continuations = data.flatMap((datum) => datum.continuations);
    const tokens = continuations.reduce((total, { tokens: own }) => total + own.length, 0);
    await this.#wait((share * tokens) / this.#options.service.training, signal);
    const logprobs = continuations.map(({ tokens: own }) => new Float32Array(own.length).fill(-1));
    return { loss: tokens, tokens, entropy: tokens, kl: 0, clipped: 0, logprobs };
  }

  forwardBackward(
    data: readonly Datum[],
    _loss: unknown,
    options?: { signal?: AbortSignal },
  ): Promise<LossResult> {
    return this.#pass(data, 1, options?.signal);
  }

  async optimStep(policy: string): Promise<{ gradientNorm: number }> {
    const { update } = this.#options.service;
    this.busySeconds += update;
    await this.#wait(update);
    this.#versions.set(policy, (this.#versions.get(policy) ?? 0) + 1);
    return { gradientNorm: 1 };
  }

  async snapshot(policy: string, { folder, name }: SavePlace): Promise<SavedPolicy> {
    await fs.mkdir(path.join(folder, name), { recursive: true });
    await fs.writeFile(path.join(folder, name, "weights"), policy);
    return { kind: "snapshot", location: name, version: this.#versions.get(policy) ?? 0, directory: null };
  }

  async checkpoint(policy: string, place: SavePlace): Promise<SavedPolicy> {
    return { ...(await this.snapshot(policy, place)), kind: "checkpoint" };
  }

  async restore(): Promise<void> {}

  async close(): Promise<void> {}

  async #wait(seconds: number, signal?: AbortSignal): Promise<void> {
    const { speed } = this.#options;
    if (speed === Infinity) return;
    await delay((seconds * 1000) / speed, undefined, signal === undefined ? {} : { signal });
  }
}
