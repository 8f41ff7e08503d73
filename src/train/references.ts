/**
 * Reference policies: frozen copies of the trained policies at the start of reinforcement, or a policy of the run. A KL
 * term in the reward or in the loss keeps the trained policy close to its reference.
 */
import { klEstimate } from "../credit/kl/estimate.ts";
import { placedActions } from "../credit/placed-actions.ts";
import type { Engine, PolicyOptions } from "../engines/engine.ts";
import { TroupeError } from "../errors.ts";
import type { Action, Episode } from "../rollout/episode.ts";
import { mean } from "../statistics.ts";

/** Its name in the engine. */
function referenceName(policy: string): string {
  return `reference-${policy}`;
}

/**
 * Creates the references of the policies in the engine; that of an adapter shares the policy's base.
 * @param beginning a policy's model, and its weights at the start of reinforcement
 */
export async function openReferences(
  engine: Engine,
  policies: Iterable<string>,
  beginning: (policy: string) => Pick<PolicyOptions, "model" | "from">,
): Promise<void> {
  for (const policy of policies) {
    await engine.createPolicy({ name: referenceName(policy), ...beginning(policy) });
  }
}

/**
 * The references' log-probabilities of every trainable action.
 * @param to the policy of the run that is the reference of all; undefined: each has its own
 */
export function referenceLogprobs(
  to: string | undefined,
  engine: Pick<Engine, "forward">,
  episodes: readonly Episode[],
  signal?: AbortSignal,
): Promise<ReadonlyMap<Action, Float32Array>> {
  return logprobsUnder(to === undefined ? referenceName : () => to, engine, episodes, signal);
}

/** Those of a model for each policy, of every trainable action. Shared prompts are computed once. */
export async function logprobsUnder(
  modelOf: (policy: string) => string,
  engine: Pick<Engine, "forward">,
  episodes: readonly Episode[],
  signal?: AbortSignal,
): Promise<ReadonlyMap<Action, Float32Array>> {
  const actions = episodes
    .flatMap(placedActions)
    .map(({ action }) => action)
    .filter(mayTrain);
  const shared = [...Map.groupBy(actions, ({ policy, prompt }) => `${policy} ${prompt.join(",")}`).values()];
  const data = shared.map((members) => {
    const { policy, prompt } = members[0] as Action;
    const continuations = members.map(({ tokens }) => ({ tokens }));
    return { policy: modelOf(policy), prompt, continuations };
  });
  if (data.length === 0) return new Map();
  const { logprobs } = await engine.forward(data, signal === undefined ? {} : { signal });
  return new Map(
    shared.flat().map((action, index) => [action, checked(logprobs[index], action, modelOf(action.policy))]),
  );
}

/** NaN would count as a missing reward. @throws TroupeError `bad_model` */
function checked(logprobs: Float32Array | undefined, { role, tokens }: Action, model: string): Float32Array {
  const wrong = logprobs?.find((one) => !Number.isFinite(one));
  if (logprobs?.length === tokens.length && wrong === undefined) return logprobs;
  const found =
    wrong === undefined
      ? `${logprobs?.length ?? 0} log-probabilities for an action of role ${role} with ${tokens.length} tokens`
      : `the log-probability ${wrong} for a token of role ${role}; its weights have diverged, or it excludes the token`;
  throw new TroupeError("bad_model", `${model} gave ${found}.`);
}

function mayTrain({ frozen, tokens }: Action): boolean {
  return !frozen && tokens.length > 0;
}

export interface Divergence {
  /** Mean over the tokens of k3, in nats: an estimate of KL(sampled ‖ reference). */
  readonly perToken: number;
  readonly tokens: number;
}

/** The divergence of the sampling policy from its reference, on its actions of the step. */
export function divergenceOf(policy: string, logprobs: ReadonlyMap<Action, Float32Array>): Divergence {
  const estimates = [...logprobs].flatMap(([action, reference]) =>
    action.policy === policy
      ? Array.from(reference, (one, token) => klEstimate("k3", action.logprobs[token] ?? one, one))
      : [],
  );
  return { perToken: mean(estimates), tokens: estimates.length };
}
