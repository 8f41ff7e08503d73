/** From credit to new weights: the optimizer steps of policies and critics, each minibatches × epochs of a step's data. */
import type { CreditedAction, CriticTerm, Signals } from "../credit/algorithm.ts";
import { criticData, criticLoss, criticName } from "../credit/critics.ts";
import { toData } from "../credit/data.ts";
import type { AdamOptions, Datum, Engine, Loss, LossResult, UpdateResult } from "../engines/engine.ts";
import { TroupeError } from "../errors.ts";
import { generatorOf, keyAt, shuffled, type Key } from "../random.ts";
import type { Recipe } from "../recipes/schema.ts";
import type { CriticMetrics, PolicyMetrics } from "../runs/records.ts";
import { settleAll } from "../settle.ts";
import { mean } from "../statistics.ts";
import { criticsOf } from "./auxiliary.ts";
import type { Run } from "./state.ts";

export interface Updated {
  readonly policies: Readonly<Record<string, PolicyMetrics>>;
  readonly critics: Readonly<Record<string, CriticMetrics>>;
  /** RolloutMetrics has it. */
  readonly mismatch?: number;
}

/** Policies and critics are updated concurrently: the data of each was computed before any of them changed. */
export async function update(
  { engine, algorithm, root, stage, interrupts, learningRateFactor }: Run,
  stageStep: number,
  credited: readonly CreditedAction[],
  signals: Signals,
): Promise<Updated> {
  const { recipe, trained } = stage;
  const { critic } = algorithm;
  const settings = recipe.train;
  const common = { signal: interrupts.changing };
  const firsts = new Map<string, FirstPass>();
  const policies = forEachPolicy(trained, (policy) => {
    const own = credited.filter(({ action }) => action.policy === policy);
    const batches = minibatchesOf({ settings, root }, policy, stageStep, own);
    return updatePolicy(engine, {
      ...common,
      policy,
      loss: algorithm.objective.loss,
      batches: batches.map((batch) => toData(batch, algorithm, signals)),
      adam: slowed(adamAt(settings, stageStep, recipe.policies[policy]?.learningRate), learningRateFactor),
      onFirstPass: (first) => firsts.set(policy, first),
    });
  });
  const updateCritic = async (name: string, term: CriticTerm): Promise<CriticMetrics> => {
    const own = credited.filter(({ action }) => !action.frozen && criticName(action.role, term) === name);
    const batches = minibatchesOf({ settings, root }, name, stageStep, own, term.epochs);
    const metrics = await updatePolicy(engine, {
      ...common,
      policy: name,
      loss: criticLoss(term),
      batches: batches.map((batch) => criticData(batch, algorithm, signals)),
      adam: slowed(adamAt(settings, stageStep, term.learningRate ?? undefined), learningRateFactor),
    });
    return criticMetrics(metrics, own, signals);
  };
  const names = criticsOf(recipe, critic).map(({ name }) => name);
  const critics = forEachPolicy(names, (name) => updateCritic(name, critic as CriticTerm));
  await settleAll<unknown>([policies, critics]);
  const updated = { policies: await policies, critics: await critics };
  // Log-probabilities of an earlier version say nothing about the sampler.
  if (signals.proximal !== undefined) return updated;
  return { ...updated, ...mismatchOf([...trained].flatMap((policy) => firsts.get(policy) ?? [])) };
}

/** Data before the first change of a policy by a step, and what the trainer says of them. */
export interface FirstPass {
  readonly data: readonly Datum[];
  readonly result: Pick<LossResult, "logprobs">;
}

/**
 * How much the log-probabilities of the sampler and the trainer differ for the same tokens and weights: the mean absolute
 * difference per token. Absent: the engine does not give them.
 */
export function mismatchOf(firsts: readonly FirstPass[]): { readonly mismatch?: number } {
  let [total, tokens] = [0, 0];
  for (const { data, result } of firsts) {
    const continuations = data.flatMap((datum) => datum.continuations);
    for (const [index, { logprobs: sampled = [], mask }] of continuations.entries()) {
      const found = result.logprobs[index] ?? [];
      for (let token = 0; token < Math.min(sampled.length, found.length); token++) {
        if (mask?.[token] === 0) continue;
        total += Math.abs((found[token] ?? 0) - (sampled[token] ?? 0));
        tokens += 1;
      }
    }
  }
  return tokens === 0 ? {} : { mismatch: total / tokens };
}

/** Runs the work for every policy, or critic, concurrently. */
export async function forEachPolicy<T>(
  names: Iterable<string>,
  work: (policy: string) => Promise<T>,
): Promise<Record<string, T>> {
  const policies = [...names];
  const values = await settleAll(policies.map(work));
  return Object.fromEntries(policies.map((name, index) => [name, values[index] as T]));
}

function criticMetrics(
  { loss, tokens, optimizerSteps, learningRate, gradientNorm, clipShare }: PolicyMetrics,
  own: readonly CreditedAction[],
  signals: Signals,
): CriticMetrics {
  const norm = gradientNorm === undefined ? {} : { gradientNorm };
  const measured = { loss, tokens, optimizerSteps, learningRate, ...norm, clipShare };
  return { ...measured, explainedVariance: explainedVariance(own, signals) };
}

/** 1 − Var(target − value) / Var(target), with the values that credit used; 0 if the targets do not vary. */
function explainedVariance(credited: readonly CreditedAction[], signals: Signals): number {
  const targets = credited.flatMap(({ valueTargets }) => [...(valueTargets ?? [])]);
  const values = credited.flatMap(({ action, valueTargets }) =>
    valueTargets === undefined ? [] : [...(signals.values?.(action) ?? [])],
  );
  const spread = variance(targets);
  return spread === 0
    ? 0
    : 1 - variance(targets.map((target, index) => target - (values[index] ?? 0))) / spread;
}

function variance(values: readonly number[]): number {
  const centre = mean(values);
  return mean(values.map((value) => (value - centre) ** 2));
}

/**
 * Epochs × minibatches of one policy's or critic's actions. Groups stay together (their members share a prompt or a
 * task, and their advantages sum to about 0). Some minibatches are empty if there are fewer groups.
 */
export function minibatchesOf(
  {
    settings,
    root,
  }: { readonly settings: Pick<Recipe["train"], "epochs" | "minibatches">; readonly root: Key },
  name: string,
  stageStep: number,
  credited: readonly CreditedAction[],
  epochs = settings.epochs,
): CreditedAction[][] {
  const groups = [...Map.groupBy(credited, ({ minibatchKey }) => minibatchKey).values()];
  const { minibatches } = settings;
  const batches = Array.from({ length: epochs }, (_, epoch) => {
    const generator = generatorOf(keyAt(root, "minibatches", stageStep, name, epoch));
    const order = minibatches === 1 ? groups : shuffled(generator, groups);
    return split(order, minibatches);
  });
  return batches.flat().map((batch) => batch.flat());
}

/** Parts of nearly equal length, in order. */
function split<T>(items: readonly T[], parts: number): T[][] {
  const edge = (part: number) => Math.floor((part * items.length) / parts);
  return Array.from({ length: parts }, (_, part) => items.slice(edge(part), edge(part + 1)));
}

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
  readonly onFirstPass?: (first: FirstPass) => void;
}

/** Adam's options at a step of the stage, counted from 1; a policy's own learning rate overrides the stage's. */
export function adamAt(settings: OptimizerSettings, step: number, learningRate?: number): AdamOptions {
  const { beta1, beta2, epsilon, weightDecay, clipNorm } = settings;
  const schedule = { ...settings, learningRate: learningRate ?? settings.learningRate };
  return { learningRate: learningRateAt(schedule, step), beta1, beta2, epsilon, weightDecay, clipNorm };
}

function slowed(adam: AdamOptions, factor: number): AdamOptions {
  return { ...adam, learningRate: factor * adam.learningRate };
}

/** @throws TroupeError `bad_recipe` if the gradient is no longer a number: later steps could not repair the weights */
export async function updatePolicy(
  engine: Pick<Engine, "forwardBackward" | "optimStep">,
  { policy, loss, batches, adam, signal, onFirstPass }: Update,
): Promise<PolicyMetrics> {
  const cancellable = signal === undefined ? {} : { signal };
  // All are submitted at once, so that the engine never waits for the loop.
  const submitted = batches
    .filter((batch) => batch.length > 0)
    .map(
      (data) => [engine.forwardBackward(data, loss, cancellable), engine.optimStep(policy, adam)] as const,
    );
  await Promise.allSettled(submitted.flat());
  const results: (LossResult & UpdateResult)[] = [];
  for (const [gradients, step] of submitted) {
    const result = { ...(await gradients), ...(await step) };
    // A clipped loss can be finite although the ratio is not; the divergence reveals it.
    const isFinite = [result.loss, result.kl, result.gradientNorm ?? 0].every(Number.isFinite);
    if (!isFinite) throw diverged(policy, result.loss, adam);
    results.push(result);
  }
  const [data, result] = [batches.find((batch) => batch.length > 0), results[0]];
  if (data !== undefined && result !== undefined) onFirstPass?.({ data, result });
  return { ...summary(results, adam.learningRate), tokens: trainedTokens(batches.flat()) };
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

function diverged(policy: string, loss: number, adam: AdamOptions): TroupeError {
  return new TroupeError(
    "bad_recipe",
    `Training diverged: the loss of policy ${policy} is ${loss}, or its gradient or its divergence from the policy that ` +
      `sampled is not finite. Its learning rate was ` +
      `${adam.learningRate}; lower it, add warmupSteps or a smaller clipNorm, and start a new run.`,
  );
}

export interface Schedule {
  readonly learningRate: number;
  readonly schedule: "constant" | "linear" | "cosine";
  /** Final share of the learning rate, for `linear` and `cosine`. */
  readonly finalLearningRate: number;
  readonly warmupSteps: number;
  readonly steps: number;
}

/**
 * The learning rate of a step, counted from 1. It rises from 1/(w+1) over w warm-up steps, then follows its schedule.
 */
export function learningRateAt(schedule: Schedule, step: number): number {
  const { learningRate, warmupSteps, finalLearningRate, steps } = schedule;
  if (step <= warmupSteps) return (learningRate * step) / (warmupSteps + 1);
  const last = Math.max(1, steps - warmupSteps - 1);
  const progress = Math.min(1, (step - warmupSteps - 1) / last);
  return learningRate * (finalLearningRate + (1 - finalLearningRate) * shapes[schedule.schedule](progress));
}

/** From 1 at the start to 0 at the end. */
const shapes: Readonly<Record<Schedule["schedule"], (progress: number) => number>> = {
  constant: () => 1,
  linear: (progress) => 1 - progress,
  cosine: (progress) => (1 + Math.cos(Math.PI * progress)) / 2,
};
