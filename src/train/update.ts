/** One step's updates of one policy: minibatches × epochs of gradient and optimizer step. */
import type { AdamOptions, Datum, Engine, Loss, LossResult, UpdateResult } from "../engines/engine.ts";
import { TroupeError } from "../errors.ts";
import type { PolicyMetrics } from "../runs/records.ts";
import { mean } from "../statistics.ts";
import type { Schedule } from "./schedule.ts";
import { learningRateAt } from "./schedule.ts";

/** The optimizer of a stage, as recipes give it. */
export interface OptimizerSettings extends Schedule {
  readonly beta1: number;
  readonly beta2: number;
  readonly epsilon: number;
  readonly weightDecay: number;
  readonly clipNorm: number;
}

export interface Update {
  readonly policy: string;
  readonly loss: Loss;
  /** Each makes one optimizer step, unless it is empty. */
  readonly batches: readonly (readonly Datum[])[];
  readonly adam: AdamOptions;
  readonly signal?: AbortSignal | undefined;
}

/** Adam's options at a step of the stage, counted from 1; a policy's own learning rate overrides the stage's. */
export function adamAt(settings: OptimizerSettings, step: number, learningRate?: number): AdamOptions {
  const { beta1, beta2, epsilon, weightDecay, clipNorm } = settings;
  const schedule = { ...settings, learningRate: learningRate ?? settings.learningRate };
  return { learningRate: learningRateAt(schedule, step), beta1, beta2, epsilon, weightDecay, clipNorm };
}

/** @throws TroupeError `bad_recipe` if the gradient is no longer a number: later steps could not repair the weights */
export async function updatePolicy(
  engine: Pick<Engine, "forwardBackward" | "optimStep">,
  update: Update,
): Promise<PolicyMetrics> {
  const cancellable = update.signal === undefined ? {} : { signal: update.signal };
  // All are submitted at once, so that the engine never waits for the loop.
  const submitted = update.batches
    .filter((batch) => batch.length > 0)
    .map(
      (data) =>
        [
          engine.forwardBackward(data, update.loss, cancellable),
          engine.optimStep(update.policy, update.adam),
        ] as const,
    );
  await Promise.allSettled(submitted.flat());
  const results: (LossResult & UpdateResult)[] = [];
  for (const [gradients, step] of submitted) {
    const result = { ...(await gradients), ...(await step) };
    // A clipped loss can be finite although the ratio is not; the divergence reveals it.
    const isFinite = [result.loss, result.kl, result.gradientNorm ?? 0].every(Number.isFinite);
    if (!isFinite) throw diverged(update, result.loss);
    results.push(result);
  }
  return { ...summary(results, update.adam.learningRate), tokens: trainedTokens(update.batches.flat()) };
}

/** The prompt before a demonstrated action has weight 0: it is computed, but has no gradient. */
function trainedTokens(data: readonly Datum[]): number {
  const continuations = data.flatMap((datum) => datum.continuations);
  const counts = continuations.map(
    ({ tokens, weights }) =>
      weights?.reduce((count, weight) => count + (weight === 0 ? 0 : 1), 0) ?? tokens.length,
  );
  return counts.reduce((sum, count) => sum + count, 0);
}

function summary(
  results: readonly (LossResult & UpdateResult)[],
  learningRate: number,
): Omit<PolicyMetrics, "tokens"> {
  const total = (field: "tokens" | "kl" | "clipped") =>
    results.reduce((sum, result) => sum + result[field], 0);
  const tokens = total("tokens");
  const perToken = (sum: number) => (tokens === 0 ? 0 : sum / tokens);
  return {
    loss: mean(results.map(({ loss }) => loss)),
    optimizerSteps: results.length,
    learningRate,
    ...gradientNormOf(results),
    // Measured with the gradient: unknown for a step without an update.
    ...(tokens === 0 ? {} : { ...entropyOf(results, tokens), kl: perToken(total("kl")) }),
    clipShare: perToken(total("clipped")),
  };
}

/** Not every engine measures it. */
function gradientNormOf(results: readonly UpdateResult[]): { gradientNorm?: number } {
  const norms = results.flatMap(({ gradientNorm }) => gradientNorm ?? []);
  return norms.length < results.length ? {} : { gradientNorm: Math.max(0, ...norms) };
}

/** Likewise. */
function entropyOf(results: readonly LossResult[], tokens: number): { entropy?: number } {
  const sums = results.flatMap(({ entropy }) => entropy ?? []);
  if (sums.length < results.length) return {};
  return { entropy: sums.reduce((sum, entropy) => sum + entropy, 0) / tokens };
}

function diverged({ policy, adam }: Update, loss: number): TroupeError {
  return new TroupeError(
    "bad_recipe",
    `Training diverged: the loss of policy ${policy} is ${loss}, or its gradient or its divergence from the policy that ` +
      `sampled is not finite. Its learning rate was ` +
      `${adam.learningRate}; lower it, add warmupSteps or a smaller clipNorm, and start a new run.`,
  );
}
