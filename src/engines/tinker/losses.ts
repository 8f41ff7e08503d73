/**
 * Losses at a server: computed there, or replaced by their linear surrogate where it knows only the protocol's own; and
 * results of the engine interface from its outputs.
 */
import { TroupeError, ServiceError } from "../../errors.ts";
import type { Continuation, Datum, Loss, LossResult } from "../engine.ts";
import { tokenLosses } from "../token-losses.ts";
import type { Profile } from "./profiles.ts";
import type { WireDatum, LossOutput } from "./protocol/forward-backward.ts";
import { afterPrompt, numbersOf, sequenceDatum } from "./protocol/losses.ts";

/** Whether the server computes the loss itself. */
export function isNative(loss: Loss, { native }: Profile): boolean {
  if (!native.includes(loss.type)) return false;
  if (loss.type === "cross_entropy" || loss.type === "value") return true;
  if (loss.kl !== undefined || loss.entropy !== undefined) return false;
  if (loss.type === "importance_sampling" || loss.type === "cispo") return true;
  return loss.dualClip === undefined && loss.ratio !== "sequence";
}

/**
 * One datum of the protocol per continuation, with zeros on the prompt. RL data has no weights, which some servers
 * would normalise by.
 */
export function plainData(data: readonly Datum[], loss: Loss, { reduction }: Profile): readonly WireDatum[] {
  const count = data.reduce((sum, { continuations }) => sum + continuations.length, 0);
  return data.flatMap(({ prompt, continuations }) =>
    continuations.map((continuation) => {
      const length = prompt.length + continuation.tokens.length - 1;
      const scale = reduction === "mean" ? length * count : 1;
      return plainDatum(
        prompt,
        continuation,
        loss.type === "cross_entropy" ? ["weights"] : ["advantages", "logprobs"],
        scale,
      );
    }),
  );
}

function plainDatum(
  prompt: Int32Array,
  continuation: Continuation,
  names: readonly ("weights" | "advantages" | "logprobs")[],
  scale: number,
): WireDatum {
  const { tokens, inputs } = sequenceDatum(prompt, continuation.tokens);
  const numbers = names.map((name) => {
    const own = counted(numbersOf(continuation, name), continuation.mask);
    return [
      name,
      afterPrompt(prompt, name === "advantages" ? own.map((each) => each * scale) : own),
    ] as const;
  });
  return { tokens, inputs: { ...inputs, ...Object.fromEntries(numbers) } };
}

/** These servers know no masks. In losses that are sums over tokens, what is zero is as if it were not counted. */
function counted(numbers: Float32Array, mask: Float32Array | undefined): Float32Array {
  return mask === undefined ? numbers : numbers.map((number, at) => (mask[at] === 0 ? 0 : number));
}

/**
 * Data for `importance_sampling` with the gradient of `loss` at these log-probabilities; that of an entropy is a
 * function of whole distributions. @throws TroupeError `unsupported`
 */
export function surrogateData(
  data: readonly Datum[],
  loss: Loss,
  logprobs: readonly Float32Array[],
): readonly Datum[] {
  if ("entropy" in loss && loss.entropy !== undefined)
    throw new TroupeError(
      "unsupported",
      "The server returns log-probabilities of single tokens, and `entropy` of a loss needs whole distributions.",
    );
  let index = 0;
  return data.map((datum) => ({
    ...datum,
    continuations: datum.continuations.map((continuation) => {
      const own = logprobs[index++] ?? new Float32Array();
      const slopes = tokenLosses(loss, continuation, [...own]).map(({ slope }) => -slope);
      return { tokens: continuation.tokens, logprobs: own, advantages: Float32Array.from(slopes) };
    }),
  }));
}

/** A loss's result, computed here from the log-probabilities. `loss` absent: those alone. */
export function measured(
  data: readonly Datum[],
  loss: Loss | undefined,
  logprobs: readonly Float32Array[],
): LossResult {
  const continuations = data.flatMap((datum) => datum.continuations);
  const terms = continuations.flatMap((continuation, index) =>
    tokenLosses(loss ?? { type: "cross_entropy" }, continuation, [...(logprobs[index] ?? [])]),
  );
  const sum = (field: "loss" | "kl" | "referenceKl"): number =>
    terms.reduce((total, term) => total + term[field], 0);
  const hasReference = continuations.some(({ reference }) => reference !== undefined);
  return {
    loss: sum("loss"),
    tokens: terms.filter(({ counts }) => counts).length,
    kl: sum("kl"),
    ...(hasReference ? { referenceKl: sum("referenceKl") } : {}),
    clipped: terms.filter(({ clipped }) => clipped).length,
    logprobs,
  };
}

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
    // NaN means that training diverged, which is reported as such.
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
