/** Losses on servers that know only the protocol's own: computed there, or replaced by their linear surrogate. */
import { TroupeError } from "../../errors.ts";
import type { Continuation, Datum, Loss, LossResult } from "../engine.ts";
import { tokenLosses } from "../token-losses.ts";
import type { Profile } from "./profiles/profile.ts";
import type { WireDatum } from "./protocol/forward-backward.ts";
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
