/** Results of the engine as those of the protocol. */
import type { z } from "zod";
import type { LossResult, SampledSequence, TopTokens } from "../../engine.ts";
import { encodeOutput, jsonOfOutput, type LossOutput, type WireDatum } from "../protocol/forward-backward.ts";
import { hasPrompt } from "../protocol/losses.ts";
import {
  noLogprob,
  sampleResponse,
  stopReasons,
  type FutureResult,
  type sampled,
} from "../protocol/schema.ts";
import { bytesOfArray } from "../protocol/tensors.ts";
import { failureOf } from "./call.ts";
import type { Result } from "./futures.ts";

export function jsonResult(value: FutureResult): Result {
  return { json: () => value, bytes: 500 };
}

export function failedResult(error: unknown): Result {
  return { ...jsonResult(failureOf(error)), failed: true };
}

/** Rows before a prompt's end are left out where the datum says how long it is, and zero where it does not. */
export function lossOutput(
  { loss, tokens, entropy, kl, referenceKl, clipped, logprobs, values }: LossResult,
  data: readonly WireDatum[],
): LossOutput {
  return {
    outputs: logprobs.map((each, index) => {
      const value = values?.[index];
      const isOfCritic = value !== undefined && value.length > 0;
      const rows = padded(isOfCritic ? value : each, data[index]);
      return isOfCritic ? { values: rows } : { logprobs: rows };
    }),
    metrics: {
      "loss:sum": loss,
      "tokens:sum": tokens,
      ...(entropy === undefined ? {} : { "entropy:sum": entropy }),
      "kl:sum": kl,
      ...(referenceKl === undefined ? {} : { "reference_kl:sum": referenceKl }),
      "clipped:sum": clipped,
    },
  };
}

function padded(rows: Float32Array, datum: WireDatum | undefined): Float32Array {
  if (datum === undefined || hasPrompt(datum) || rows.length === datum.tokens.length) return rows;
  const whole = new Float32Array(datum.tokens.length);
  whole.set(rows, whole.length - rows.length);
  return whole;
}

export function lossResultOf(output: LossOutput): Result {
  const bytes = output.outputs.reduce(
    (sum, each) => sum + Object.values(each).reduce((total, { byteLength }) => total + byteLength, 100),
    500,
  );
  return { json: () => jsonOfOutput(output), proto: () => encodeOutput(output), bytes };
}

/** What was asked for of a prompt's tokens. */
export interface PromptScores {
  /** NaN for the first token, and where none was asked for; null: for none. */
  readonly logprobs: Float32Array | null;
  /** Rows of the last tokens; `length` of all. Null: not asked for. */
  readonly top: (TopTokens & { readonly count: number; readonly length: number }) | null;
}

export function sampleResult(
  sequences: readonly SampledSequence[],
  { logprobs: promptLogprobs, top }: PromptScores,
): Result {
  return {
    json: (): z.input<typeof sampled> => ({
      type: "sample",
      sequences: sequences.map(({ tokens, logprobs, stopReason }) => ({
        stop_reason: stopReason,
        tokens: [...tokens],
        logprobs: [...logprobs],
      })),
      prompt_logprobs:
        promptLogprobs && Array.from(promptLogprobs, (each) => (Number.isNaN(each) ? null : each)),
      topk_prompt_logprobs: top && topRows(top),
    }),
    proto: () =>
      sampleResponse.encode({
        sequences: sequences.map(({ tokens, logprobs, stopReason }) => ({
          stopReason: stopReasons.indexOf(stopReason),
          tokens: bytesOfArray(tokens),
          logprobs: bytesOfArray(logprobs),
        })),
        promptLogprobs: promptLogprobs === null ? undefined : bytesOfArray(promptLogprobs),
        topPromptLogprobs: top === null ? undefined : topMatrix(top),
      }),
    bytes: sequences.reduce(
      (sum, { tokens }) => sum + 8 * tokens.length + 100,
      4 * (promptLogprobs?.length ?? 0) + 8 * (top?.tokens.length ?? 0),
    ),
  };
}

type Top = NonNullable<PromptScores["top"]>;

function topRows({ tokens, logprobs, count, length }: Top): ([number, number][] | null)[] {
  const missing = length - tokens.length / count;
  return Array.from({ length }, (_, row) => {
    const start = (row - missing) * count;
    if (start < 0) return null;
    return Array.from(tokens.subarray(start, start + count), (token, at) => [
      token,
      logprobs[start + at] ?? 0,
    ]);
  });
}

function topMatrix({ tokens, logprobs, count, length }: Top) {
  const [ids, numbers] = [new Int32Array(length * count), new Float32Array(length * count).fill(noLogprob)];
  ids.set(tokens, ids.length - tokens.length);
  numbers.set(logprobs, numbers.length - logprobs.length);
  return { tokens: bytesOfArray(ids), logprobs: bytesOfArray(numbers), top: count, length };
}
