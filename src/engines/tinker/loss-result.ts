/** Results of the engine interface from the server's outputs. */
import { ServiceError } from "../../errors.ts";
import type { Datum, LossResult } from "../engine.ts";
import type { LossOutput } from "./protocol/forward-backward.ts";

/** Of a server with Troupe's metrics. `parts`: outputs of consecutive chunks. */
export function lossResult(
  data: readonly Datum[],
  parts: readonly LossOutput[],
  isCritic: boolean,
): LossResult {
  const arrays = arraysOf(data, parts, isCritic ? "values" : "logprobs");
  const empty = arrays.map(() => new Float32Array());
  return { ...sums(parts), logprobs: isCritic ? empty : arrays, ...(isCritic ? { values: arrays } : {}) };
}

/** One array per continuation, without what a server returns for the prompt. @throws ServiceError */
export function arraysOf(
  data: readonly Datum[],
  parts: readonly LossOutput[],
  name: "values" | "logprobs",
): readonly Float32Array[] {
  const outputs = parts.flatMap((part) => part.outputs);
  const lengths = data.flatMap(({ prompt, continuations }) =>
    continuations.map(({ tokens }) => ({ length: tokens.length, whole: prompt.length + tokens.length })),
  );
  if (outputs.length !== lengths.length)
    throw new ServiceError(`The server returned ${outputs.length} outputs for ${lengths.length} sequences.`);
  return outputs.map((output, index) => {
    const found = output[name];
    const { length = 0, whole = 0 } = lengths[index] ?? {};
    if (found === undefined || found.length < length || found.length > whole)
      throw new ServiceError(
        `The server's output ${index} has ${found?.length ?? "no"} values for ${length} tokens after a prompt of ${whole - length}.`,
      );
    const own = found.subarray(found.length - length);
    // What is no number any more is the training's, and reported as such.
    if (name === "logprobs")
      for (const value of own) if (!Number.isNaN(value)) checkLogprob(value, `a token of sequence ${index}`);
    return own;
  });
}

/** Of float32 and shorter, a sum of probabilities may exceed 1 by rounding. */
const mostLogprob = 0.01;

/** @throws ServiceError */
export function checkLogprob(value: number, what: string): void {
  if (Number.isFinite(value) && value <= mostLogprob) return;
  throw new ServiceError(
    `The server returned the log-probability ${value} for ${what}; expected a number of at most 0.`,
  );
}

/** @throws ServiceError if one is missing, which would read as 0 */
function sums(parts: readonly LossOutput[]): Omit<LossResult, "logprobs" | "values"> {
  const has = (name: string): boolean => parts.every(({ metrics }) => metrics[`${name}:sum`] !== undefined);
  const sum = (name: string): number => {
    if (!has(name)) throw new ServiceError(`The server's answer lacks ${name}:sum.`);
    return parts.reduce((total, { metrics }) => total + (metrics[`${name}:sum`] ?? 0), 0);
  };
  return {
    loss: sum("loss"),
    tokens: sum("tokens"),
    ...(has("entropy") ? { entropy: sum("entropy") } : {}),
    kl: sum("kl"),
    ...(has("reference_kl") ? { referenceKl: sum("reference_kl") } : {}),
    clipped: sum("clipped"),
  };
}

/** Of data of several policies: the arrays in the data's order. `owners`: the policy of each array. */
export function mergedResults(
  owners: readonly string[],
  results: ReadonlyMap<string, LossResult>,
): LossResult {
  const all = [...results.values()];
  const [only] = all;
  if (all.length === 1 && only !== undefined) return only;
  const sum = (of: (result: LossResult) => number | undefined): number =>
    all.reduce((total, result) => total + (of(result) ?? 0), 0);
  const next = new Map<string, number>();
  const places = owners.map((owner) => {
    const index = next.get(owner) ?? 0;
    next.set(owner, index + 1);
    return { result: results.get(owner), index };
  });
  const has = (field: "entropy" | "referenceKl" | "values"): boolean =>
    all.some((result) => result[field] !== undefined);
  const none = new Float32Array();
  return {
    loss: sum(({ loss }) => loss),
    tokens: sum(({ tokens }) => tokens),
    ...(has("entropy") ? { entropy: sum(({ entropy }) => entropy) } : {}),
    kl: sum(({ kl }) => kl),
    ...(has("referenceKl") ? { referenceKl: sum(({ referenceKl }) => referenceKl) } : {}),
    clipped: sum(({ clipped }) => clipped),
    logprobs: places.map(({ result, index }) => result?.logprobs[index] ?? none),
    ...(has("values") ? { values: places.map(({ result, index }) => result?.values?.[index] ?? none) } : {}),
  };
}
