/** Data of the verbs as a few flat arrays, checked, and results in that form as those of the verbs. */
import { TroupeError } from "../errors.ts";
import { checkData, fieldsOf, policiesOf, checkTokens, type Field, type NumberField } from "./checks.ts";
import type {
  Datum,
  Loss,
  SampledSequence,
  SampleRequest,
  LossResult,
  PolicyName,
  TopTokens,
} from "./engine.ts";

/** For d data and c continuations in total; see native/binding/arguments.h. */
export interface FlatBatch {
  readonly policies: readonly string[];
  readonly policyOf: Int32Array;
  readonly promptLengths: Int32Array;
  readonly continuationCounts: Int32Array;
  readonly continuationLengths: Int32Array;
  readonly tokens: Int32Array;
  readonly weights?: Float32Array;
  readonly advantages?: Float32Array;
  readonly logprobs?: Float32Array;
  readonly reference?: Float32Array;
  readonly penalties?: Float32Array;
  readonly targets?: Float32Array;
  readonly values?: Float32Array;
  readonly mask?: Float32Array;
}

export interface FlatRequest {
  readonly policy: string;
  readonly prompt: Int32Array;
  readonly count: number;
  readonly maxTokens: number;
  readonly temperature: number;
  readonly topK: number;
  readonly topP: number;
  readonly seed: number;
  readonly stopTokens: Int32Array;
  readonly stopStrings: readonly string[];
}

export interface FlatSamples {
  readonly tokens: Int32Array;
  readonly logprobs: Float32Array;
  readonly entropies?: Float32Array;
  readonly lengths: Int32Array;
  readonly stopped: Uint8Array;
}

export interface FlatResult {
  readonly loss: number;
  readonly tokens: number;
  readonly entropy: number;
  readonly kl: number;
  readonly referenceKl: number;
  readonly clipped: number;
  /** Of all continuations: log-probabilities, or a critic's values. */
  readonly outputs: Float32Array;
  /** If they were asked for: `top` for each number of `outputs`. */
  readonly topTokens?: Int32Array;
  readonly topLogprobs?: Float32Array;
}

/**
 * `loss` absent: for log-probabilities alone. @throws TroupeError `bad_arguments` for wrong types, `bad_shape` for
 * wrong lengths
 */
export function flatten(data: readonly Datum[], loss?: Loss): FlatBatch {
  checkData(data, loss);
  const continuations = data.flatMap((datum) => datum.continuations);
  const policies = policiesOf(data);
  const numbers = numbersFor(loss, data);
  return {
    policies,
    policyOf: Int32Array.from(data, (datum) => policies.indexOf(datum.policy)),
    promptLengths: Int32Array.from(data, (datum) => datum.prompt.length),
    continuationCounts: Int32Array.from(data, (datum) => datum.continuations.length),
    continuationLengths: Int32Array.from(continuations, (continuation) => continuation.tokens.length),
    tokens: concatenate(
      Int32Array,
      data.flatMap((datum) => [
        datum.prompt,
        ...datum.continuations.map((continuation) => continuation.tokens),
      ]),
    ),
    ...numbers,
  };
}

function numbersFor(
  loss: Loss | undefined,
  data: readonly Datum[],
): Partial<Record<NumberField, Float32Array>> {
  return Object.fromEntries(fieldsOf(loss, data).map((field) => [field.name, numbersOf(data, field)]));
}

function numbersOf(data: readonly Datum[], { name }: Field): Float32Array {
  const arrays = data.flatMap(({ continuations }) =>
    continuations.map(
      (continuation) => continuation[name] ?? new Float32Array(continuation.tokens.length).fill(1),
    ),
  );
  return concatenate(Float32Array, arrays);
}

function concatenate<T extends Int32Array | Float32Array>(
  constructor: new (length: number) => T,
  arrays: readonly T[],
): T {
  const result = new constructor(arrays.reduce((sum, array) => sum + array.length, 0));
  let at = 0;
  for (const array of arrays) {
    result.set(array, at);
    at += array.length;
  }
  return result;
}

/**
 * Fills in defaults and checks what the engine below does not. A sequence ends at the model's last position; a prompt
 * that leaves no room is rejected there.
 */
export function flatRequest(request: SampleRequest, maxLength: number): FlatRequest {
  checkTokens(request.prompt, "prompt");
  const { policy, prompt, count, temperature, seed } = request;
  const room = maxLength - prompt.length;
  const maxTokens = request.maxTokens > room && room > 0 ? room : request.maxTokens;
  const stopTokens = request.stopTokens ?? [];
  const unusable = stopTokens.find((id) => !Number.isSafeInteger(id) || id < 0 || id >= 2 ** 31);
  if (unusable !== undefined)
    throw new TroupeError("bad_token", `stopTokens has ${unusable}; expected token ids.`);
  return {
    policy,
    prompt,
    count,
    maxTokens,
    temperature,
    seed,
    topK: request.topK ?? 0,
    topP: request.topP ?? 1,
    stopTokens: Int32Array.from(stopTokens),
    stopStrings: request.stopStrings ?? [],
  };
}

export function sampledSequences(samples: FlatSamples, policyVersion: number): SampledSequence[] {
  let at = 0;
  return Array.from(samples.lengths, (length, i) => {
    at += length;
    return {
      tokens: samples.tokens.slice(at - length, at),
      logprobs: samples.logprobs.slice(at - length, at),
      ...(samples.entropies === undefined ? {} : { entropies: samples.entropies.slice(at - length, at) }),
      stopReason: samples.stopped[i] === 1 ? "stop" : "length",
      policyVersion,
    };
  });
}

/** `critics`: those among the data's policies. */
export function lossResult(
  data: readonly Datum[],
  batch: FlatBatch,
  { outputs, referenceKl, topTokens, topLogprobs, ...sums }: FlatResult,
  critics: ReadonlySet<PolicyName>,
): LossResult {
  const { logprobs, values } = perContinuation(data, outputs, critics);
  return {
    ...sums,
    ...(batch.reference === undefined ? {} : { referenceKl }),
    logprobs,
    ...(critics.size === 0 ? {} : { values }),
    ...(topTokens === undefined || topLogprobs === undefined
      ? {}
      : { top: topOf(data, { tokens: topTokens, logprobs: topLogprobs }) }),
  };
}

function topOf(data: readonly Datum[], { tokens, logprobs }: TopTokens): readonly TopTokens[] {
  const lengths = data.flatMap(({ continuations }) => continuations.map((each) => each.tokens.length));
  const top = tokens.length / lengths.reduce((sum, length) => sum + length, 0);
  let end = 0;
  return lengths.map((length) => {
    const start = end;
    end += top * length;
    return { tokens: tokens.slice(start, end), logprobs: logprobs.slice(start, end) };
  });
}

/** Every continuation has log-probabilities or values, and an empty array for the other. */
function perContinuation(
  data: readonly Datum[],
  flat: Float32Array,
  critics: ReadonlySet<PolicyName>,
): { logprobs: Float32Array[]; values: Float32Array[] } {
  const logprobs: Float32Array[] = [];
  const values: Float32Array[] = [];
  let at = 0;
  for (const { policy, continuations } of data) {
    const [filled, empty] = critics.has(policy) ? [values, logprobs] : [logprobs, values];
    for (const { tokens } of continuations) {
      at += tokens.length;
      filled.push(flat.slice(at - tokens.length, at));
      empty.push(new Float32Array(0));
    }
  }
  return { logprobs, values };
}
