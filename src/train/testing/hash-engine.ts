/**
 * An engine without a model, for tests of the loop: a policy's weights are one number. Every sampled token,
 * log-probability and value depends on it, and every trained token with its numbers changes it. Two runs that end with
 * the same number did the same things in the same order.
 */
import fs from "node:fs/promises";
import path from "node:path";
import type {
  Datum,
  Engine,
  PolicyCopy,
  Loss,
  LossResult,
  PolicyInfo,
  PolicyOptions,
} from "../../engines/engine.ts";
import type { SampleRequest, SampledSequence } from "../../engines/engine.ts";
import type { SavedPolicy, SavePlace, StoredPolicy } from "../../engines/engine.ts";
import { engineKinds } from "../../engines/open.ts";
import { TroupeError } from "../../errors.ts";
import { childKey, drawInt, generatorOf, keyAt, rootKey, seedOf } from "../../random.ts";

interface HashPolicy {
  weights: number;
  gradient: number;
  /** Of the optimizer: a policy made from saved weights starts with none. */
  steps: number;
  version: number;
  readonly isCritic: boolean;
  readonly vocabularySize: number;
  readonly endToken: number;
}

export interface HashEngineOptions {
  /** Samples have the log-probabilities that passes give. Default: −1 for every token. */
  readonly isConsistent?: boolean;
  readonly vocabularySize: number;
  readonly endToken: number;
  /** What it claims to compute with; without effect. */
  readonly arithmetic?: Readonly<Record<string, string>>;
  readonly onCall?: (
    verb: "sample" | "forward" | "forwardBackward" | "optimStep" | "save",
    policy: string,
  ) => void;
}

export class HashEngine implements Engine {
  readonly capabilities = engineKinds.local.capabilities({});
  readonly description = "hash engine";
  readonly arithmetic: Readonly<Record<string, string>>;
  readonly policies = new Map<string, HashPolicy>();
  readonly #options: HashEngineOptions;
  #copies = 0;

  constructor(options: HashEngineOptions) {
    this.#options = options;
    this.arithmetic = options.arithmetic ?? {};
  }

  /** The saved weights; 1 for any other model. */
  async createPolicy({ name, model, from, valueHead }: PolicyOptions): Promise<PolicyInfo> {
    const { vocabularySize, endToken } = this.#options;
    if (this.policies.has(name)) throw new TroupeError("bad_arguments", `There is a policy ${name} already.`);
    const stored = from ?? (typeof model === "string" ? null : model);
    const isCritic = valueHead === true;
    this.policies.set(name, {
      weights: stored === null ? 1 : await savedWeights(stored),
      gradient: 0,
      steps: 0,
      version: stored?.saved.version ?? 0,
      isCritic,
      vocabularySize,
      endToken,
    });
    return { name, parameters: 2, trainableParameters: 2, maxLength: 4096, vocabularySize };
  }

  async removePolicy(name: string): Promise<void> {
    this.policies.delete(name);
  }

  async sample(request: SampleRequest, options?: { signal?: AbortSignal }): Promise<SampledSequence[]> {
    const policy = this.#policy(request.policy);
    await tick(options?.signal);
    this.#options.onCall?.("sample", request.policy);
    const { isConsistent = false } = this.#options;
    const root = keyAt(rootKey(request.seed), policy.weights, ...request.prompt);
    return Array.from({ length: request.count }, (_, index) => {
      const generator = generatorOf(childKey(root, index));
      const length = 1 + drawInt(generator, Math.min(8, request.maxTokens));
      const tokens = Int32Array.from({ length }, () => drawInt(generator, policy.vocabularySize));
      tokens[length - 1] = policy.endToken;
      return {
        tokens,
        logprobs: isConsistent
          ? pseudoValues(policy.weights, request.prompt, tokens)
          : new Float32Array(length).fill(-1),
        stopReason: "stop",
        policyVersion: policy.version,
      };
    });
  }

  async forward(data: readonly Datum[], options?: { signal?: AbortSignal }): Promise<LossResult> {
    await tick(options?.signal);
    for (const { policy } of data) this.#options.onCall?.("forward", policy);
    return this.#lossOf(data);
  }

  async forwardBackward(
    data: readonly Datum[],
    loss: Loss,
    options?: { signal?: AbortSignal },
  ): Promise<LossResult> {
    await tick(options?.signal);
    for (const datum of data) {
      const policy = this.#policy(datum.policy);
      this.#options.onCall?.("forwardBackward", datum.policy);
      if ((loss.type === "value") !== policy.isCritic)
        throw new TroupeError("bad_arguments", `${datum.policy} has no loss ${loss.type}`);
      const numbers = datum.continuations.flatMap((continuation) =>
        Object.values(continuation).flatMap((values: Iterable<number>) => Array.from(values, bitsOf)),
      );
      policy.gradient = seedOf(keyAt(rootKey(policy.gradient), ...datum.prompt, ...numbers));
    }
    return this.#lossOf(data);
  }

  async optimStep(name: string, adam: object): Promise<{ gradientNorm: number }> {
    await tick();
    const policy = this.#policy(name);
    this.#options.onCall?.("optimStep", name);
    const rates = Object.values(adam).map((value) => bitsOf(Number(value)));
    policy.weights = seedOf(keyAt(rootKey(policy.weights), policy.gradient, policy.steps, ...rates));
    policy.gradient = 0;
    policy.steps += 1;
    policy.version += 1;
    return { gradientNorm: 1 };
  }

  async snapshot(name: string, { folder, name: file }: SavePlace): Promise<SavedPolicy> {
    const { weights, version } = this.#policy(name);
    this.#options.onCall?.("save", name);
    await fs.mkdir(path.join(folder, file));
    await fs.writeFile(path.join(folder, file, "weights"), String(weights));
    return { kind: "snapshot", location: file, version, directory: file };
  }

  async checkpoint(name: string, place: SavePlace): Promise<SavedPolicy> {
    const snapshot = await this.snapshot(name, place);
    const { steps } = this.#policy(name);
    await fs.writeFile(optimizerFile({ saved: snapshot, folder: place.folder }), String(steps));
    return { ...snapshot, kind: "checkpoint" };
  }

  async restore(name: string, stored: StoredPolicy): Promise<void> {
    const policy = this.#policy(name);
    policy.weights = await savedWeights(stored);
    policy.version = stored.saved.version;
    if (stored.saved.kind === "checkpoint")
      policy.steps = Number(await fs.readFile(optimizerFile(stored), "utf8"));
  }

  async copy(name: string): Promise<PolicyCopy> {
    const copy = `${name} copy ${++this.#copies}`;
    this.policies.set(copy, { ...this.#policy(name) });
    return {
      sample: (request, options) => this.sample({ ...request, policy: copy }, options),
      release: () => this.removePolicy(copy),
    };
  }

  async close(): Promise<void> {
    this.policies.clear();
  }

  #lossOf(data: readonly Datum[]): LossResult {
    const continuations = data.flatMap((datum) => datum.continuations);
    const tokens = continuations.reduce((sum, { tokens: ids }) => sum + ids.length, 0);
    const numbers = data.flatMap((datum) =>
      datum.continuations.map((one) =>
        pseudoValues(this.#policy(datum.policy).weights, datum.prompt, one.tokens),
      ),
    );
    const isCritic = data.some(({ policy }) => this.#policy(policy).isCritic);
    const answers = isCritic ? { logprobs: [], values: numbers } : { logprobs: numbers };
    return { loss: 1, tokens, entropy: tokens, kl: 0, clipped: 0, ...answers };
  }

  #policy(name: string): HashPolicy {
    const policy = this.policies.get(name);
    if (policy === undefined) throw new TroupeError("bad_arguments", `There is no policy ${name}.`);
    return policy;
  }
}

async function savedWeights({ saved, folder }: StoredPolicy): Promise<number> {
  return Number(await fs.readFile(path.join(folder, saved.location, "weights"), "utf8"));
}

function optimizerFile({ saved, folder }: StoredPolicy): string {
  return path.join(folder, `${saved.location}.optimizer`);
}

async function tick(signal?: AbortSignal): Promise<void> {
  await new Promise((resolve) => {
    setImmediate(resolve);
  });
  if (signal?.aborted === true) throw new TroupeError("cancelled", "Cancelled.");
}

/** One number from −2 to 0 for each token, depending on it and on those before it. */
function pseudoValues(weights: number, prompt: Int32Array, tokens: Int32Array): Float32Array {
  let key = keyAt(rootKey(weights), ...prompt);
  return Float32Array.from(tokens, (token) => {
    key = childKey(key, token);
    return -drawInt(generatorOf(key), 200) / 100;
  });
}

/** The float's bits as an integer, for keys. */
function bitsOf(value: number): number {
  return new Uint32Array(Float32Array.of(value).buffer)[0] as number;
}
