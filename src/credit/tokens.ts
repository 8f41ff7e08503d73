/**
 * Token credit: how an action's advantage becomes one number for each of its tokens: the same for all, to go, or along a
 * trajectory by a critic's values (GAE). Advantages, values and their targets are in units of the return.
 */
import { TroupeError } from "../errors.ts";
import type { Action } from "../rollout/episode.ts";
import type { ComparedAction, CreditContext, Signals, TokenAdvantages, TokenCredit } from "./algorithm.ts";
import { klCharges } from "./kl.ts";
import { trajectoryEnd } from "./places.ts";

/** A_t = A: every token of an action gets the action's advantage (GRPO, arXiv 2402.03300, sec. 4.1.2). */
export const broadcast: TokenCredit = {
  chargesKl: false,
  toTokens: (compared) =>
    compared.map(({ action, advantage }) => ({
      advantages: new Float64Array(action.tokens.length).fill(advantage),
    })),
};

/**
 * A_t = A − β·Σ_{t′ ≥ t} k_{t′}: the action's credit is given at its last token, KL to the reference is charged at
 * every token, and each token gets the undiscounted rest (REINFORCE++, arXiv 2501.03262v9, eq. 8 and 9; γ = 1 within an
 * action, as in MARTI).
 */
export const returnsToGo: TokenCredit = {
  chargesKl: true,
  toTokens: (compared, { kl, signals }) =>
    compared.map(({ action, advantage }) => {
      const advantages = new Float64Array(action.tokens.length).fill(advantage);
      if (kl?.where !== "reward") return { advantages };
      const charges = klCharges(action, kl, signals);
      let ahead = 0;
      for (let token = charges.length - 1; token >= 0; token--) {
        ahead += charges[token] ?? 0;
        advantages[token] = advantage - ahead;
      }
      return { advantages };
    }),
};

/**
 * Â_t = δ_t + γ_t·λ·Â_{t+1}, δ_t = r_t + γ_t·V_{t+1} − V_t (GAE, arXiv 1506.02438, eq. 16). The value after the last
 * step is 0: an episode also ends at its turn limit, because its score is final there. All arrays have one entry per step.
 * @param discounts γ_t from step t to t + 1; that of the last step is not used.
 */
export function generalizedAdvantages(
  rewards: readonly number[],
  values: readonly number[],
  discounts: readonly number[],
  lambda: number,
): Float64Array {
  const advantages = new Float64Array(rewards.length);
  let [after, valueAfter] = [0, 0];
  for (let step = rewards.length - 1; step >= 0; step--) {
    const [value = 0, reward = 0, discount = 0] = [values[step], rewards[step], discounts[step]];
    const error = reward + discount * valueAfter - value;
    const weight = discount * lambda;
    // Skips the product if the factor is 0, because 0 · NaN is NaN.
    after = weight === 0 ? error : error + weight * after;
    advantages[step] = after;
    valueAfter = value;
  }
  return advantages;
}

/**
 * GAE over the concatenated tokens of a role's own actions on its trajectory (PPO for language models as in arXiv
 * 2203.02155; GAE: arXiv 1506.02438, eq. 16). The action's credit is given at its last token; KL is charged at every
 * token. γ is 1 within an action and γ^(turns between) from its last token to the first of the role's next action,
 * whose value is the next value there. Targets are Â + V. Deviation: with a shared episode score the paper's single
 * response becomes the role's last action.
 */
export function tokenGae(discount: number, lambda: number): TokenCredit {
  const toTokens: TokenCredit["toTokens"] = (compared, context) => {
    const credited = compared.map((): TokenAdvantages => ({ advantages: new Float64Array(0) }));
    for (const trajectory of trajectoriesOf(compared, true)) {
      const actions = trajectory.map((index) => compared[index] as ComparedAction);
      for (const [at, given] of tokensAlongLine(actions, discount, lambda, context).entries())
        credited[trajectory[at] as number] = given;
    }
    return credited;
  };
  return { chargesKl: true, toTokens };
}

function tokensAlongLine(
  trajectory: readonly ComparedAction[],
  discount: number,
  lambda: number,
  context: CreditContext,
): TokenAdvantages[] {
  const values = trajectory.flatMap(({ action }) => [...valuesOf(action, context.signals)]);
  const rewards = trajectory.flatMap((one) => tokenRewards(one, context));
  const discounts = trajectory.flatMap((one, index) => tokenDiscounts(one, trajectory[index + 1], discount));
  const advantages = generalizedAdvantages(rewards, values, discounts, lambda);
  const targets = advantages.map((advantage, token) => advantage + (values[token] ?? 0));
  let start = 0;
  return trajectory.map(({ action }) => {
    const [from, to] = [start, start + action.tokens.length];
    start = to;
    return { advantages: advantages.slice(from, to), valueTargets: targets.slice(from, to) };
  });
}

function tokenRewards({ action, advantage }: ComparedAction, { kl, signals }: CreditContext): number[] {
  const charges = kl?.where === "reward" ? klCharges(action, kl, signals) : undefined;
  const last = action.tokens.length - 1;
  return Array.from(action.tokens, (_, token) => (token === last ? advantage : 0) - (charges?.[token] ?? 0));
}

function tokenDiscounts(
  { action }: ComparedAction,
  next: ComparedAction | undefined,
  discount: number,
): number[] {
  const turns = next === undefined ? 0 : next.action.turn - action.turn;
  const last = action.tokens.length - 1;
  return Array.from(action.tokens, (_, token) => (token === last ? discount ** turns : 1));
}

/**
 * GAE (arXiv 1506.02438, eq. 16) with whole actions as steps; V is the critic's value of the prompt. λ = 0 is the one-step
 * difference A = r + γV′ − V of IAC and MAAC (arXiv 2601.21972, CoLLM-DC and CoLLM-CC; as in the code, CoMLRL v1.3.2),
 * without a next action r − V.
 * @param chain `role`: the next value is that of the role's own next action (IAC). `team`: that of the team's next joint
 *   action, and simultaneous roles share one advantage (MAAC).
 * Deviation: the critic's target is Â + V for both; CoMLRL's IAC regresses the Monte-Carlo return while its advantage
 * is the one-step difference.
 */
export function actionGae(chain: "role" | "team", discount: number, lambda: number): TokenCredit {
  const toTokens: TokenCredit["toTokens"] = (compared, context) => {
    const credited = compared.map((): TokenAdvantages => ({ advantages: new Float64Array(0) }));
    for (const trajectory of trajectoriesOf(compared, chain === "role")) {
      const steps = [...Map.groupBy(trajectory, (index) => compared[index]?.node).values()];
      const actions = steps.map((members) => compared[members[0] as number] as ComparedAction);
      const given = actionsAlongLine(actions, discount, lambda, context);
      for (const [step, members] of steps.entries())
        for (const index of members)
          credited[index] = overTokens(compared[index] as ComparedAction, given[step]);
    }
    return credited;
  };
  return { chargesKl: false, toTokens };
}

interface ActionStep {
  readonly advantage: number;
  readonly target: number;
}

function actionsAlongLine(
  trajectory: readonly ComparedAction[],
  discount: number,
  lambda: number,
  { signals }: CreditContext,
): ActionStep[] {
  const values = trajectory.map(({ action }) => valuesOf(action, signals)[0] ?? 0);
  const rewards = trajectory.map(({ advantage }) => advantage);
  // A program counts the turns of each role: one that is asked for the first time is not in an earlier turn.
  let turn = 0;
  const turns = trajectory.map(({ action }) => (turn = Math.max(turn, action.turn)));
  const discounts = turns.map((own, index) => {
    const next = turns[index + 1];
    return next === undefined ? 0 : discount ** (next - own);
  });
  const advantages = generalizedAdvantages(rewards, values, discounts, lambda);
  return Array.from(advantages, (advantage, step) => ({
    advantage,
    target: advantage + (values[step] ?? 0),
  }));
}

function overTokens(
  { action }: ComparedAction,
  { advantage, target }: ActionStep = { advantage: 0, target: 0 },
) {
  return {
    advantages: new Float64Array(action.tokens.length).fill(advantage),
    valueTargets: Float64Array.of(target),
  };
}

/**
 * Indices of the actions of each trajectory in order of play; with `byRole`, separately for each role. Actions without
 * tokens have no value and are skipped. The trees must not branch below the root (`keep: all`).
 */
function trajectoriesOf(compared: readonly ComparedAction[], byRole: boolean): number[][] {
  const indices = compared.flatMap(({ action }, index) => (action.tokens.length === 0 ? [] : [index]));
  const key = (index: number): string => {
    const one = compared[index] as ComparedAction;
    const trajectory = [one.episode.id, trajectoryEnd(one)?.node ?? one.node.id];
    return JSON.stringify(byRole ? [...trajectory, one.action.role] : trajectory);
  };
  return [...Map.groupBy(indices, key).values()];
}

/** The critic's values of an action. @throws TroupeError `internal` if they are missing */
function valuesOf(action: Action, signals: Signals): Float32Array {
  const values = signals.values?.(action);
  if (values !== undefined) return values;
  throw new TroupeError(
    "internal",
    `the algorithm has a critic, but values are missing for an action of role ${action.role}`,
  );
}
