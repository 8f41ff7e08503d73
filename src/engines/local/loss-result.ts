/** The result of a pass over data, from the native engine's flat arrays. */
import type { Datum, LossResult, PolicyName, TopTokens } from "../engine.ts";
import type { FlatBatch, NativeLossResult } from "./native.ts";

/** `critics`: those among the data's policies. */
export function lossResult(
  data: readonly Datum[],
  batch: FlatBatch,
  { outputs, referenceKl, topTokens, topLogprobs, ...sums }: NativeLossResult,
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
