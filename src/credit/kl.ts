/** KL to a reference policy, in nats per token: estimated, charged to the reward, adapted. */
import type { KlEstimator } from "../engines/engine.ts";
import { TroupeError } from "../errors.ts";
import type { Action } from "../rollout/episode.ts";
import type { Algorithm, KlTerm, Signals } from "./algorithm.ts";

/** Bound on |d| of one token in k3, in nats: e^10 alone would outweigh a batch (MARTI clamps there too). */
const bound = 10;

/**
 * One token's estimate of KL(policy ‖ reference), d = log π − log π_ref (Schulman 2020, joschu.net/blog/kl-approx.html, whose
 * formulas have no numbers; k3: GRPO, arXiv 2402.03300, eq. 4):
 * k1 = d, unbiased, may be negative; k2 = d²/2, biased, low variance; k3 = e^(−d) − 1 + d, unbiased, never negative.
 * Deviation: d is clamped to ±10 in k3 only, as in the engine's loss; MARTI clamps all three estimates.
 */
export function klEstimate(estimator: KlEstimator, logprob: number, reference: number): number {
  const difference = logprob - reference;
  if (estimator === "k1") return difference;
  if (estimator === "k2") return difference ** 2 / 2;
  const held = Math.min(bound, Math.max(-bound, difference));
  return Math.exp(-held) - 1 + held;
}

/**
 * β·k_t for each token of the action: the cost of KL in the reward (REINFORCE++, arXiv 2501.03262v9, eq. 9; RLHF as in
 * arXiv 2203.02155, eq. 2). log π is that of the sampling policy. @throws TroupeError `internal` without reference
 * log-probabilities
 */
export function klCharges(action: Action, kl: KlTerm, signals: Signals): Float64Array {
  if (action.tokens.length === 0) return new Float64Array(0);
  const reference = signals.reference?.(action);
  if (reference === undefined) {
    throw new TroupeError(
      "internal",
      `the algorithm charges KL, but reference log-probabilities are missing for an action of role ${action.role}`,
    );
  }
  const coefficient = klCoefficient(action.policy, kl, signals);
  return Float64Array.from(
    action.logprobs,
    (logprob, token) => coefficient * klEstimate(kl.estimator, logprob, reference[token] ?? logprob),
  );
}

/** The current β: the loop's, which may adapt, or the term's own. */
export function klCoefficient(policy: string, kl: KlTerm, signals: Signals): number {
  return signals.klCoefficient?.(policy) ?? kl.coefficient;
}

/**
 * β ← β·(1 + clip(kl/target − 1, ±.2)·n/horizon) (Ziegler et al., arXiv 1909.08593, sec. 2.2, K = 1/horizon).
 * Without a target β is constant.
 * @param measured Mean KL per token to the reference, over the step's tokens of the policy.
 * @param tokens n, how many tokens were measured. Deviation: Ziegler counts episodes, MARTI samples.
 */
export function adaptKl(coefficient: number, measured: number, term: KlTerm, tokens: number): number {
  if (term.target === null || !Number.isFinite(measured)) return coefficient;
  const error = Math.min(0.2, Math.max(-0.2, measured / term.target - 1));
  return coefficient * (1 + (error * Math.min(tokens, term.horizon)) / term.horizon);
}

/** Whether KL is measured against frozen copies of the policies at the start of reinforcement. */
export function needsInitialPolicies({ kl }: Pick<Algorithm, "kl">): boolean {
  return kl !== null && kl.to === undefined;
}
