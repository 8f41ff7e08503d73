/**
 * What a worker answers is checked before anything is made of it. What no model gives (a token outside its vocabulary, a
 * probability above one, too few of something) is a failure of the worker, whose process is ended and whose verb another
 * one is asked (worker.ts): it is never a value. Each check returns what is wrong. Null: nothing is.
 */
import { z } from "zod";
import type { Datum, PolicyInfo, PolicyName } from "../engine.ts";
import type { FlatRequest } from "../flat-data.ts";
import type { FrameArray } from "./frames.ts";

export interface Answer {
  readonly header: Readonly<Record<string, unknown>>;
  readonly arrays: Readonly<Record<string, FrameArray>>;
}

export type AnswerCheck = (answer: Answer) => string | null;

/** Of sums and logarithms, on any device. */
const rounding = 1e-4;

const count = z.int().min(0);

export const createdSchema = z.object({
  fresh: z.array(z.tuple([z.string(), z.array(z.int().min(1))])),
  parameters: count,
  trainableParameters: count,
  maxLength: z.int().min(1),
  vocabularySize: z.int().min(1),
});
export const steppedSchema = z.object({ gradientNorm: z.number().min(0) });
const bytes = z.number().positive();
export const predictedSchema = z.object({ host: bytes, device: bytes.optional() });
/** With every message: what tensors hold, and the whole of the process. */
export const memorySchema = z
  .object({
    memoryBytes: count,
    processMemory: z.object({ host: bytes, device: count.optional() }),
  })
  .transform(({ memoryBytes, processMemory }) => ({ held: memoryBytes, process: processMemory }));
export type WorkerMemory = z.output<typeof memorySchema>;
const sumsSchema = z.object({
  loss: z.number(),
  tokens: count,
  entropy: z.number(),
  kl: z.number().min(-rounding),
  referenceKl: z.number().min(-rounding),
  clipped: count,
});

export function hasHeader(schema: z.ZodType): AnswerCheck {
  return ({ header }) => {
    const [issue] = schema.safeParse(header).error?.issues ?? [];
    return issue === undefined ? null : `${issue.path.join(".")}: ${issue.message}`;
  };
}

export const hasValues: AnswerCheck = ({ arrays }) =>
  arrays["values"] instanceof Float32Array ? null : "no values";

/** Of a sample: as many sequences as were asked for, each until a stop or as long as allowed. */
export function hasSamples(request: FlatRequest, vocabulary: number): AnswerCheck {
  return ({ arrays }) => {
    const { tokens, logprobs, entropies, lengths, stopped } = arrays;
    if (!(lengths instanceof Int32Array && stopped instanceof Uint8Array)) return "no lengths or stops";
    if (!(tokens instanceof Int32Array && logprobs instanceof Float32Array)) return "no tokens";
    if (lengths.length !== request.count || stopped.length !== request.count)
      return `${lengths.length} sequences; ${request.count} were asked for`;
    const wrong = wrongLength(lengths, request.maxTokens);
    if (wrong !== null) return wrong;
    const total = lengths.reduce((sum, length) => sum + length, 0);
    if (tokens.length !== total || logprobs.length !== total)
      return `${tokens.length} tokens and ${logprobs.length} log-probabilities of ${total} tokens`;
    const badEntropies = wrongEntropies(entropies, total, vocabulary);
    if (badEntropies !== null) return badEntropies;
    return (
      wrongToken(tokens, vocabulary) ?? wrongLogprob(logprobs) ?? wrongEnd(request, tokens, lengths, stopped)
    );
  };
}

function wrongEntropies(entropies: unknown, total: number, vocabulary: number): string | null {
  if (entropies === undefined) return null;
  if (!(entropies instanceof Float32Array) || entropies.length !== total)
    return `entropies of other tokens than the ${total}`;
  const most = Math.log(vocabulary) + rounding;
  const bad = entropies.find((nats) => !(nats >= -rounding && nats <= most));
  return bad === undefined ? null : `an entropy of ${bad} nats; expected 0 to ${most.toFixed(3)}`;
}

function wrongLength(lengths: Int32Array, most: number): string | null {
  const bad = lengths.find((length) => length < 1 || length > most);
  return bad === undefined ? null : `a sequence of ${bad} tokens; expected 1 to ${most}`;
}

function wrongEnd(
  { maxTokens, stopTokens, stopStrings }: FlatRequest,
  tokens: Int32Array,
  lengths: Int32Array,
  stopped: Uint8Array,
): string | null {
  const stops = new Set(stopTokens);
  let end = 0;
  for (const [index, length] of lengths.entries()) {
    const own = tokens.subarray(end, (end += length));
    const first = own.findIndex((token) => stops.has(token));
    const isStopped = stopped[index] === 1;
    if (first >= 0 && (first < length - 1 || !isStopped)) return "a sequence that goes past its stop token";
    if (isStopped && first < 0 && stopStrings.length === 0)
      return "a sequence that stops without a stop token";
    if (!isStopped && length < maxTokens)
      return `a sequence that ends after ${length} of ${maxTokens} tokens`;
  }
  return null;
}

interface Passed {
  readonly data: readonly Datum[];
  /** Most probable tokens that were asked for. */
  readonly top: number;
  readonly policyOf: (name: PolicyName) => { readonly info: PolicyInfo; readonly critic: boolean };
}

/** Of a pass over data: sums within their bounds, a number for each token. */
export function hasPass({ data, top, policyOf }: Passed): AnswerCheck {
  return (answer) => {
    const wrong = hasHeader(sumsSchema)(answer) ?? wrongOutputs({ data, top, policyOf }, answer.arrays);
    if (wrong !== null) return wrong;
    const sums = sumsSchema.parse(answer.header);
    const counted = data.map((datum) => countedIn(datum));
    const tokens = counted.reduce((sum, each) => sum + each, 0);
    if (sums.tokens !== tokens) return `sums over ${sums.tokens} tokens; the data have ${tokens}`;
    if (sums.clipped > tokens) return `${sums.clipped} clipped tokens of ${tokens}`;
    const most = data.reduce((sum, { policy }, index) => {
      const { info, critic } = policyOf(policy);
      return sum + (critic ? 0 : (counted[index] ?? 0) * Math.log(info.vocabularySize));
    }, 0);
    const slack = rounding * (1 + most);
    const isPossible = sums.entropy >= -slack && sums.entropy <= most + slack;
    return isPossible ? null : `an entropy of ${sums.entropy}; expected 0 to ${most}`;
  };
}

function countedIn({ continuations }: Datum): number {
  return continuations.reduce(
    (sum, { tokens, mask }) =>
      sum + (mask === undefined ? tokens.length : mask.filter((value) => value !== 0).length),
    0,
  );
}

function wrongOutputs({ data, top, policyOf }: Passed, arrays: Answer["arrays"]): string | null {
  const { outputs } = arrays;
  const lengths = data.map(({ continuations }) =>
    continuations.reduce((sum, { tokens }) => sum + tokens.length, 0),
  );
  const total = lengths.reduce((sum, length) => sum + length, 0);
  if (!(outputs instanceof Float32Array && outputs.length === total))
    return `${outputs?.length ?? "no"} outputs for ${total} tokens`;
  let end = 0;
  for (const [index, { policy }] of data.entries()) {
    const own = outputs.subarray(end, (end += lengths[index] ?? 0));
    const wrong = policyOf(policy).critic ? wrongValue(own) : wrongLogprob(own);
    if (wrong !== null) return wrong;
  }
  return top === 0 ? null : wrongTop({ data, top, policyOf }, total, arrays);
}

function wrongTop({ data, top, policyOf }: Passed, total: number, arrays: Answer["arrays"]): string | null {
  const { topTokens, topLogprobs } = arrays;
  if (!(topTokens instanceof Int32Array && topLogprobs instanceof Float32Array))
    return "no most probable tokens";
  if (topTokens.length !== top * total || topLogprobs.length !== top * total)
    return `${topTokens.length} most probable tokens for ${total} tokens; expected ${top} for each`;
  const vocabulary = Math.max(...data.map(({ policy }) => policyOf(policy).info.vocabularySize));
  // A token that a model excludes has none.
  const finite = topLogprobs.filter((value) => value !== -Infinity);
  return wrongToken(topTokens, vocabulary) ?? wrongLogprob(finite);
}

function wrongToken(tokens: Int32Array, vocabulary: number): string | null {
  const bad = tokens.find((token) => token < 0 || token >= vocabulary);
  return bad === undefined ? null : `the token ${bad}; its vocabulary ends at ${vocabulary - 1}`;
}

function wrongLogprob(values: Float32Array): string | null {
  const bad = values.find((value) => !(Number.isFinite(value) && value <= rounding));
  return bad === undefined ? null : `a log-probability of ${bad}`;
}

function wrongValue(values: Float32Array): string | null {
  const bad = values.find((value) => !Number.isFinite(value));
  return bad === undefined ? null : `a value of ${bad}`;
}
