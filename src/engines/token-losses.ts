/** The losses of engine.ts per token, with their derivatives, independent of the native implementation. */
import type { CispoLoss, Continuation, KlEstimator, Loss, PpoLoss, ValueLoss } from "./engine.ts";

export interface TokenLoss {
  /** By the continuation's mask: whether it is in sums. If not, everything else is 0. */
  readonly counts: boolean;
  readonly loss: number;
  /** Derivative of the total loss by this token's log-probability, or value. */
  readonly slope: number;
  readonly kl: number;
  readonly referenceKl: number;
  readonly clipped: boolean;
}

/**
 * For every token, from its log-probabilities, or from a critic's values. A loss with `entropy` also needs the
 * entropies; their gradient is not in `slope`.
 */
export function tokenLosses(
  loss: Loss,
  continuation: Continuation,
  outputs: readonly number[],
  entropies: readonly number[] = [],
): readonly TokenLoss[] {
  const counts = (at: number): boolean => continuation.mask?.[at] !== 0;
  const terms = termsOf(loss, continuation, outputs, entropies, counts);
  return terms.map((term, at) => (counts(at) ? { ...term, counts: true } : uncounted));
}

const nothing = { kl: 0, referenceKl: 0, clipped: false };
const uncounted: TokenLoss = { ...nothing, counts: false, loss: 0, slope: 0 };

type Term = Omit<TokenLoss, "counts">;

function termsOf(
  loss: Loss,
  continuation: Continuation,
  outputs: readonly number[],
  entropies: readonly number[],
  counts: (at: number) => boolean,
): readonly Term[] {
  if (loss.type === "value") return outputs.map((value, at) => valueLoss(loss, continuation, at, value));
  if (loss.type === "cross_entropy")
    return outputs.map((logprob, at) => crossEntropy(continuation, at, logprob));
  const logRatios = outputs.map((logprob, at) => logprob - number(continuation.logprobs, at));
  const mean = meanOf(logRatios, counts);
  const isSequence = loss.type === "ppo" && loss.ratio === "sequence";
  const terms = logRatios.map((logRatio, at) =>
    ratioTerm(loss, isSequence ? mean : logRatio, number(continuation.advantages, at), outputs[at] ?? 0),
  );
  const slopes = terms.map(({ slope }) => slope);
  const shared = meanOf(slopes, counts);
  return terms.map((term, at) => {
    const logRatio = logRatios[at] ?? 0;
    const reference = referenceTerm(loss.kl, continuation, at, outputs[at] ?? 0);
    return {
      loss: term.loss + reference.loss - entropyBonus(loss, continuation, at) * (entropies[at] ?? 0),
      slope: (isSequence ? shared : term.slope) + reference.slope,
      kl: Math.expm1(logRatio) - logRatio,
      referenceKl: reference.kl,
      clipped: term.clipped,
    };
  });
}

/** The coefficient of a token's entropy. */
export function entropyBonus(loss: Loss, { weights, mask }: Continuation, at: number): number {
  const { entropy = 0 } = "entropy" in loss ? loss : {};
  return mask?.[at] === 0 ? 0 : entropy * (weights?.[at] ?? 1);
}

function meanOf(values: readonly number[], counts: (at: number) => boolean): number {
  const counted = values.filter((_, at) => counts(at));
  return counted.reduce((sum, value) => sum + value, 0) / Math.max(1, counted.length);
}

function crossEntropy({ weights }: Continuation, at: number, logprob: number): Term {
  const weight = weights?.[at] ?? 1;
  return { ...nothing, loss: -weight * logprob, slope: -weight };
}

function ratioTerm(
  loss: Exclude<Loss, ValueLoss>,
  logRatio: number,
  advantage: number,
  logprob: number,
): Pick<TokenLoss, "loss" | "slope" | "clipped"> {
  if (loss.type === "cispo") return heldRatioTerm(loss, Math.exp(logRatio), advantage, logprob);
  const free = Math.exp(logRatio) * advantage;
  const [objective, clipped] =
    loss.type === "ppo" ? clippedObjective(loss, free, logRatio, advantage) : [free, false];
  return { loss: -objective, slope: clipped ? 0 : -free, clipped };
}

function heldRatioTerm(
  { clipLow, clipHigh }: CispoLoss,
  ratio: number,
  advantage: number,
  logprob: number,
): Pick<TokenLoss, "loss" | "slope" | "clipped"> {
  const held = clamp(ratio, 1 - clipLow, 1 + clipHigh);
  return { loss: -held * advantage * logprob, slope: -held * advantage, clipped: held !== ratio };
}

function clippedObjective(
  { clipLow, clipHigh, dualClip = 0 }: PpoLoss,
  free: number,
  logRatio: number,
  advantage: number,
): [number, boolean] {
  const bounded = clamp(Math.exp(logRatio), 1 - clipLow, 1 + clipHigh) * advantage;
  const floor = dualClip > 0 && advantage < 0 ? dualClip * advantage : -Infinity;
  const objective = Math.max(floor, Math.min(free, bounded));
  return [objective, objective !== free];
}

function referenceTerm(
  estimator: KlEstimator | undefined,
  { reference, penalties }: Continuation,
  at: number,
  logprob: number,
): { loss: number; slope: number; kl: number } {
  if (reference === undefined) return { loss: 0, slope: 0, kl: 0 };
  const difference = logprob - number(reference, at);
  const kl = estimate("k3", difference).value;
  if (estimator === undefined) return { loss: 0, slope: 0, kl };
  const penalty = number(penalties, at);
  const { value, slope } = estimate(estimator, difference);
  return { loss: penalty * value, slope: penalty * slope, kl };
}

function estimate(estimator: KlEstimator, difference: number): { value: number; slope: number } {
  if (estimator === "k1") return { value: difference, slope: 1 };
  if (estimator === "k2") return { value: difference ** 2 / 2, slope: difference };
  const held = clamp(difference, -10, 10);
  return { value: Math.expm1(-held) + held, slope: held === difference ? -Math.expm1(-held) : 0 };
}

function valueLoss({ clip }: ValueLoss, continuation: Continuation, at: number, value: number): Term {
  const [weight, target] = [continuation.weights?.[at] ?? 1, number(continuation.targets, at)];
  const error = value - target;
  const old = number(continuation.values, at);
  const held = clip === undefined ? error : clamp(value, old - clip, old + clip) - target;
  const clipped = held ** 2 > error ** 2;
  const loss = 0.5 * weight * Math.max(error ** 2, held ** 2);
  return { ...nothing, loss, slope: clipped ? 0 : weight * error, clipped };
}

function clamp(value: number, low: number, high: number): number {
  return Math.min(high, Math.max(low, value));
}

function number(values: Float32Array | undefined, at: number): number {
  return values?.[at] ?? 0;
}
