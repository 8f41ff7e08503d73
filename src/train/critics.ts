/**
 * Critics: models with a value head, for algorithms that need them (`Algorithm.critic`): one per trained role, or a
 * central one that sees the prompts of all roles of a phase. A critic starts with its policy's weights at the start of
 * reinforcement, base and adapter, and a zero head.
 */
import type { CreditedAction, CriticTerm, Signals } from "../credit/algorithm.ts";
import { criticData, criticLoss, criticName, valueQueries } from "../credit/critics/queries.ts";
import type { Datum, Engine, PolicyOptions } from "../engines/engine.ts";
import { TroupeError } from "../errors.ts";
import type { Recipe } from "../recipes/schema.ts";
import type { Episode } from "../rollout/episode.ts";
import { settleAll } from "../settle.ts";
import type { CriticMetrics } from "../runs/records.ts";
import { mean } from "../statistics.ts";
import type { CreditedBatch } from "./credited-batch.ts";
import type { Learner } from "./learner.ts";
import { minibatchesOf } from "./minibatches.ts";
import { adamAt, updatePolicy } from "./update.ts";

/** A planned critic: its name in the engine, and the policy whose model it is made from. */
export interface Critic {
  readonly name: string;
  readonly policy: string;
}

/** The critics of the trained roles; a central one is made from the first role's policy. */
export function criticsOf({ team }: Pick<Recipe, "team">, term: CriticTerm | null): readonly Critic[] {
  if (term === null) return [];
  const critics = new Map<string, Critic>();
  for (const [role, { frozen, policy }] of Object.entries(team.roles)) {
    const name = criticName(role, term);
    if (!frozen && !critics.has(name)) critics.set(name, { name, policy });
  }
  return [...critics.values()];
}

/**
 * Creates the critics in the engine: a whole model for a whole model, an equal adapter on the same base for an adapter.
 * @param beginning as in `openReferences`
 */
export async function openCritics(
  engine: Engine,
  critics: readonly Critic[],
  beginning: (policy: string) => Pick<PolicyOptions, "model" | "from">,
): Promise<void> {
  for (const { name, policy } of critics) {
    await engine.createPolicy({ name, ...beginning(policy), valueHead: true });
  }
}

/** The values that credit needs. */
export async function criticValues(
  { engine, algorithm, maxLength, measuring }: Learner,
  episodes: readonly Episode[],
): Promise<NonNullable<Signals["values"]>> {
  const { data, read } = valueQueries(episodes, algorithm);
  checkLengths(data, maxLength);
  if (data.length === 0) return read([]);
  const { values = [] } = await engine.forward(data, measuring === undefined ? {} : { signal: measuring });
  return read(values);
}

/** Each role's text fits its model; the concatenation for a central critic may not fit. */
function checkLengths(data: readonly Datum[], limit: number): void {
  for (const { prompt, continuations } of data) {
    const length = prompt.length + Math.max(...continuations.map(({ tokens }) => tokens.length));
    if (length <= limit) continue;
    throw new TroupeError(
      "too_long",
      `The concatenated prompts of the simultaneous roles have ${length} tokens with an action, but the central ` +
        `critic accepts at most ${limit}. Use a critic per role (ppo, iac), shorter prompts or a model with a longer context.`,
    );
  }
}

/** Trains each critic on its targets, concurrently. */
export async function updateCritics(
  learner: Learner,
  critics: readonly Critic[],
  batch: CreditedBatch,
): Promise<Record<string, CriticMetrics>> {
  const term = learner.algorithm.critic;
  if (term === null) return {};
  const metrics = await settleAll(critics.map(({ name }) => updateCritic(learner, term, name, batch)));
  return Object.fromEntries(critics.map(({ name }, index) => [name, metrics[index] as CriticMetrics]));
}

async function updateCritic(
  { engine, algorithm, settings, root, signal }: Learner,
  term: CriticTerm,
  name: string,
  { stageStep, credited, signals }: CreditedBatch,
): Promise<CriticMetrics> {
  const own = credited.filter(({ action }) => !action.frozen && criticName(action.role, term) === name);
  const batches = minibatchesOf({ settings, root }, name, stageStep, own, term.epochs);
  const { loss, tokens, optimizerSteps, learningRate, gradientNorm, clipShare } = await updatePolicy(engine, {
    policy: name,
    loss: criticLoss(term),
    batches: batches.map((batch) => criticData(batch, algorithm, signals)),
    adam: adamAt(settings, stageStep, term.learningRate ?? undefined),
    signal,
  });
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
