/** The expected sums of a loss, from the engine's log-probabilities or values: the formulas of engine.ts. */
import type { Continuation, KlEstimator, Loss } from "../engine.ts";

export interface ExpectedSums {
  readonly loss: number;
  readonly kl: number;
  readonly referenceKl: number;
  readonly clipped: number;
}

export function expectedSums(
  loss: Loss,
  continuations: readonly Continuation[],
  outputs: readonly Float32Array[],
): ExpectedSums {
  const sums = continuations.map((continuation, index) =>
    ofContinuation(loss, continuation, [...(outputs[index] ?? [])]),
  );
  const total = (field: keyof ExpectedSums): number => sums.reduce((sum, each) => sum + each[field], 0);
  return {
    loss: total("loss"),
    kl: total("kl"),
    referenceKl: total("referenceKl"),
    clipped: total("clipped"),
  };
}

function ofContinuation(loss: Loss, continuation: Continuation, outputs: readonly number[]): ExpectedSums {
  const sum = (of: (output: number, index: number) => number): number =>
    outputs.reduce((total, output, index) => total + (counts(index) ? of(output, index) : 0), 0);
  const counts = (index: number): boolean => at(continuation.mask, index) === 1;
  const { weights, advantages, logprobs, reference, penalties, targets, values } = continuation;
  if (loss.type === "cross_entropy")
    return { ...none, loss: sum((logp, index) => -at(weights, index) * logp) };
  if (loss.type === "value") {
    const error = (value: number, index: number): number => (value - at(targets, index)) ** 2;
    const held = (value: number, index: number): number =>
      loss.clip === undefined ? 0 : error(within(value, at(values, index), loss.clip), index);
    const worst = (value: number, index: number): number => Math.max(error(value, index), held(value, index));
    return {
      ...none,
      loss: sum((value, index) => 0.5 * at(weights, index) * worst(value, index)),
      clipped: sum((value, index) => (held(value, index) > error(value, index) ? 1 : 0)),
    };
  }
  const logRatio = (logp: number, index: number): number => logp - at(logprobs, index);
  const mean = sum(logRatio) / sum(() => 1);
  const isSequence = loss.type === "ppo" && loss.ratio === "sequence";
  const ratio = (logp: number, index: number): number => Math.exp(isSequence ? mean : logRatio(logp, index));
  const free = (logp: number, index: number): number => ratio(logp, index) * at(advantages, index);
  const objective = (logp: number, index: number): number => {
    if (loss.type === "importance_sampling") return free(logp, index);
    const advantage = at(advantages, index);
    const clip = Math.min(1 + loss.clipHigh, Math.max(1 - loss.clipLow, ratio(logp, index))) * advantage;
    if (loss.type === "cispo") return clip * logp;
    const lower = Math.min(free(logp, index), clip);
    return loss.dualClip !== undefined && advantage < 0 ? Math.max(lower, loss.dualClip * advantage) : lower;
  };
  const k = (estimator: KlEstimator, logp: number, index: number): number =>
    divergence(estimator, logp - at(reference, index));
  const { kl } = loss;
  return {
    loss: sum(
      (logp, index) =>
        (kl === undefined ? 0 : at(penalties, index) * k(kl, logp, index)) - objective(logp, index),
    ),
    kl: sum((logp, index) => Math.exp(logRatio(logp, index)) - 1 - logRatio(logp, index)),
    referenceKl: sum((logp, index) => k("k3", logp, index)),
    clipped: sum((logp, index) => {
      const unclipped = free(logp, index) * (loss.type === "cispo" ? logp : 1);
      return objective(logp, index) === unclipped ? 0 : 1;
    }),
  };
}

const none: ExpectedSums = { loss: 0, kl: 0, referenceKl: 0, clipped: 0 };

function at(field: Float32Array | undefined, index: number): number {
  return field?.[index] ?? 1;
}

function within(value: number, centre: number, distance: number): number {
  return Math.min(centre + distance, Math.max(centre - distance, value));
}

function divergence(estimator: KlEstimator, difference: number): number {
  if (estimator === "k1") return difference;
  if (estimator === "k2") return difference ** 2 / 2;
  const held = Math.min(10, Math.max(-10, difference));
  return Math.exp(-held) - 1 + held;
}
