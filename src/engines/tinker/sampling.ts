/** Samples: the sampling sessions of a policy's weights, requests for samples, and what they return. */
import { randomUUID } from "node:crypto";
import { ServiceError, TroupeError } from "../../errors.ts";
import { checkTokens } from "../checks.ts";
import type { EngineCapabilities, PolicyInfo, SampledSequence, SampleRequest } from "../engine.ts";
import { parsed, understood, type Incoming } from "./client/answers.ts";
import { deleteCheckpoint } from "./client/session.ts";
import { checkLogprob } from "./losses.ts";
import { checkIds } from "./passes.ts";
import type { Sampler, PlacedPolicy } from "./policies.ts";
import type { Profile } from "./profiles.ts";
import { jsonOfTokens } from "./protocol/forward-backward.ts";
import { sampled, sampleResponse, stopReasons, type Bodies } from "./protocol/schema.ts";
import { floatsOf, int32sOf } from "./protocol/tensors.ts";

/** Seconds that a copy lives at most: longer than a batch is sampled. */
const longestCopy = 7 * 24 * 3600;

export interface SamplerCopy {
  readonly sampler: Sampler;
  readonly release: () => Promise<void>;
}

export class Publisher {
  readonly #profile: Profile;

  constructor(profile: Profile) {
    this.#profile = profile;
  }

  /** The sampling session of the current weights, which are published first if they were not. */
  sampler(policy: PlacedPolicy, onSubmitted?: () => void): Promise<Sampler> {
    const kind = this.#profile.snapshots === "inflight" ? "inflight" : "snapshot";
    policy.sampler ??= publish(policy, kind, onSubmitted).catch((error: unknown) => {
      policy.sampler = null;
      throw error;
    });
    return policy.sampler;
  }

  /** Samples will ask for it, and try again if it fails. */
  publishNow(policy: PlacedPolicy, onSubmitted: () => void): void {
    policy.isSampled = false;
    void this.sampler(policy, onSubmitted).catch(() => onSubmitted());
  }

  /** A server of Troupe keeps what it saved until it is deleted; others end such weights with the session. */
  async copy(policy: PlacedPolicy): Promise<SamplerCopy> {
    if (this.#profile.snapshots !== "inflight")
      return { sampler: await publish(policy, "snapshot"), release: async () => undefined };
    const { session } = policy.server;
    const policyName = policy.info.name.replaceAll(/[^\w.-]/g, "-");
    const name = `${policyName}-${policy.version}-copy-${randomUUID().slice(0, 8)}`;
    // A client that is killed does not delete it.
    const { id, path } = await policy.model.savedSampler(name, { ttl_seconds: longestCopy });
    return {
      sampler: { id, completions: session.completionsOf(id) },
      release: () => deleteCheckpoint(session, path),
    };
  }
}

async function publish(
  { model, server }: PlacedPolicy,
  kind: "inflight" | "snapshot",
  onSubmitted?: () => void,
): Promise<Sampler> {
  const id = await model.sampler(kind, onSubmitted);
  return { id, completions: server.session.completionsOf(id) };
}

/** What the server would reject, or not notice. @throws TroupeError */
export function checkRequest(
  request: SampleRequest,
  info: PolicyInfo,
  capabilities: Pick<EngineCapabilities, "topK" | "topP" | "stopStrings">,
): void {
  const { prompt, count, maxTokens, temperature, seed, topP = 1, topK = 0, stopTokens = [] } = request;
  checkTokens(prompt, "prompt");
  checkSupported(request, capabilities);
  if (!isWhole(count, 1)) throw wrong(`count ${count}`, "a whole number of at least 1");
  if (!isWhole(maxTokens, 1)) throw wrong(`maxTokens ${maxTokens}`, "a whole number of at least 1");
  if (!(temperature >= 0) || !Number.isFinite(temperature))
    throw wrong(`temperature ${temperature}`, "at least 0");
  if (!(topP > 0 && topP <= 1)) throw wrong(`topP ${topP}`, "more than 0 and at most 1");
  if (!isWhole(topK, 0)) throw wrong(`topK ${topK}`, "a whole number of at least 0");
  if (!isWhole(seed, 0)) throw wrong(`seed ${seed}`, "a whole number of at least 0");
  if (prompt.length === 0) throw new TroupeError("bad_shape", "The prompt is empty.");
  checkIds(prompt, info, "The prompt");
  if (stopTokens.some((id) => !isWhole(id, 0) || id >= 2 ** 31))
    throw new TroupeError("bad_token", `stopTokens are ${stopTokens.join(", ")}; expected token ids.`);
  if (prompt.length >= info.maxLength)
    throw new TroupeError(
      "too_long",
      `The prompt of ${prompt.length} tokens fills the model's ${info.maxLength}.`,
    );
}

/** @throws TroupeError `unsupported` */
function checkSupported(
  { topK = 0, topP = 1, stopStrings = [] }: SampleRequest,
  capabilities: Pick<EngineCapabilities, "topK" | "topP" | "stopStrings">,
): void {
  const missing =
    topK > 0 && !capabilities.topK
      ? "top-k"
      : topP < 1 && capabilities.topP === false
        ? "top-p"
        : stopStrings.length > 0 && !capabilities.stopStrings
          ? "stop texts"
          : null;
  if (missing !== null) throw new TroupeError("unsupported", `This server does not support ${missing}.`);
}

function wrong(what: string, expected: string): TroupeError {
  return new TroupeError("bad_arguments", `${what} of a sample; expected ${expected}.`);
}

function isWhole(value: number, least: number): boolean {
  return Number.isSafeInteger(value) && value >= least;
}

/** The body of `asample`, without its sampler and number. */
export function sampleBody(
  request: SampleRequest,
  info: PolicyInfo,
  { bothStops: hasBothStops, seedsBelow }: Pick<Profile, "bothStops" | "seedsBelow">,
): Bodies["asample"] {
  const {
    prompt,
    count,
    maxTokens,
    temperature,
    seed,
    topP = 1,
    topK = 0,
    stopTokens = [],
    stopStrings = [],
  } = request;
  if (stopStrings.length > 0 && stopTokens.length > 0 && !hasBothStops)
    throw new TroupeError("unsupported", "This server stops at tokens or at texts, not both in one request.");
  const room = info.maxLength - prompt.length;
  return {
    num_samples: count,
    prompt: jsonOfTokens(prompt),
    sampling_params: {
      max_tokens: Math.min(maxTokens, room),
      temperature,
      seed: seed % seedsBelow,
      top_p: topP,
      top_k: topK === 0 ? -1 : topK,
      // An empty list: nothing but the limit ends a sequence.
      stop: stopStrings.length > 0 ? [...stopStrings] : [...stopTokens],
      ...(hasBothStops ? { stop_tokens: [...stopTokens] } : {}),
    },
  };
}

/**
 * @throws ServiceError if the server returned another number of sequences than were asked for, or ones that no model
 * with these tokens can have sampled
 */
export function sequencesOf(
  incoming: Incoming,
  request: SampleRequest,
  info: PolicyInfo,
  policyVersion: number,
  { padsSamples = false }: Pick<Profile, "padsSamples"> = {},
): SampledSequence[] {
  const found = incoming.isProto
    ? understood("asample", () => protoSequences(incoming.body))
    : jsonSequences(incoming);
  const sequences = padsSamples ? found.map((sequence) => cut(sequence, request, info)) : found;
  if (sequences.length !== request.count)
    throw new ServiceError(
      `The server returned ${sequences.length} samples; ${request.count} were asked for.`,
    );
  for (const sequence of sequences) checkSequence(sequence, request, info);
  return sequences.map((sequence) => ({ ...sequence, policyVersion }));
}

/** Ends a sequence at its first stop token. @throws ServiceError if it ended at another */
function cut(
  { tokens, logprobs }: Sequence,
  { prompt, maxTokens, stopTokens = [] }: SampleRequest,
  { maxLength }: PolicyInfo,
): Sequence {
  const end = tokens.findIndex((token) => stopTokens.includes(token)) + 1;
  if (end > 0) return { tokens: tokens.slice(0, end), logprobs: logprobs.slice(0, end), stopReason: "stop" };
  const most = Math.min(maxTokens, maxLength - prompt.length);
  if (tokens.length >= most) return { tokens, logprobs, stopReason: "length" };
  throw new ServiceError(
    `The server ended a sample at the token ${tokens.at(-1)}, which is none of those at which it was to stop (${stopTokens.join(", ")}). Is the end of its model's turns that of the recipe's?`,
  );
}

/** What is trained must not depend on a server's honesty. @throws ServiceError */
function checkSequence(
  { tokens, logprobs }: Sequence,
  { maxTokens }: SampleRequest,
  { name, vocabularySize }: PolicyInfo,
): void {
  if (logprobs.length !== tokens.length || tokens.length === 0)
    throw new ServiceError(
      `The server returned ${tokens.length} tokens with ${logprobs.length} log-probabilities; expected one each.`,
    );
  if (tokens.length > maxTokens)
    throw new ServiceError(
      `The server returned a sample of ${tokens.length} tokens; at most ${maxTokens} were asked for.`,
    );
  const strange = tokens.find((id) => id < 0 || id >= vocabularySize);
  if (strange !== undefined)
    throw new ServiceError(
      `The server sampled the token ${strange}; ${name} has ${vocabularySize} tokens. Is it the same model there?`,
    );
  for (const value of logprobs) checkLogprob(value, "a token that it sampled");
}

type Sequence = Omit<SampledSequence, "policyVersion">;

function protoSequences(body: Buffer): readonly Sequence[] {
  return sampleResponse.decode(body).sequences.map(({ stopReason, tokens, logprobs }) => ({
    tokens: int32sOf(tokens),
    logprobs: floatsOf(logprobs ?? Buffer.alloc(0)),
    stopReason: reasonOf(stopReason),
  }));
}

/** Another one says neither that a sequence is whole nor that it is cut. @throws RangeError */
function reasonOf(code: number): SampledSequence["stopReason"] {
  const reason = stopReasons[code];
  if (reason !== undefined) return reason;
  throw new RangeError(`a sequence stopped for the unknown reason ${code}`);
}

function jsonSequences(incoming: Incoming): readonly Sequence[] {
  return parsed(sampled, incoming, "asample").sequences.map(
    ({ tokens, logprobs, stop_reason: stopReason }) => ({
      tokens: Int32Array.from(tokens),
      logprobs: Float32Array.from(logprobs ?? []),
      stopReason,
    }),
  );
}
