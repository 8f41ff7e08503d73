/** Rows with a critic. */
import { z } from "zod";
import { type AlgorithmRow, row } from "../algorithm.ts";
import { noBaseline, noScale } from "../baselines.ts";
import { batchGrouping } from "../groups.ts";
import { policyGradient, ppoClip, withEntropy, withKl } from "../objectives.ts";
import {
  immediateReturn,
  jointReturn,
  jointReward,
  ownPenalties,
  roleProgress,
  sharedPenalties,
  teamProgress,
  terminalReturn,
  withOutcome,
} from "../returns.ts";
import { mixedScore } from "../rewards.ts";
import { actionGae, tokenGae } from "../tokens.ts";
import { whitenActions, whitenTokens } from "../whitening.ts";
import * as option from "./options.ts";

const lambda = (standard: number) =>
  z.number().min(0).max(1).default(standard).describe("λ of GAE: 0 relies on the critic, 1 on the rewards.");

const whiten = z.boolean().default(true).describe("Normalise a policy's advantages over the step.");

/** No group comparison: the critic is the baseline. */
const uncompared = {
  ...option.plain,
  grouping: batchGrouping,
  baseline: noBaseline,
  scale: noScale,
} as const;

export const ppo = row(
  "PPO, arXiv 1707.06347, eq. 7, with GAE, arXiv 1506.02438, eq. 16",
  "a critic per role values every token; GAE along the role's actions",
  z.strictObject({
    samples: option.samples(1),
    reward: z
      .enum(["outcome", "progress", "action"])
      .default("outcome")
      .describe(
        "outcome: the episode's score, at the role's last action. progress: its change until the role acts again. action: each action's reward.",
      ),
    alpha: option.alpha,
    discount: option.discount,
    lambda: lambda(0.95),
    critic: z
      .enum(["role", "central"])
      .default("role")
      .describe(
        "role: each role's critic sees its prompt. central: one sees those of all simultaneous roles.",
      ),
    ...option.criticOptions,
    whiten,
    ...option.clip(),
    aggregation: option.aggregation("token-mean"),
    ...option.klOption("none", "k1"),
    ...option.entropy,
    ...option.truncated,
    ...option.overlong,
    ...option.shaping,
    ...option.outcomeWeight,
  }),
  (options) => {
    const kl = option.klTerm(options.kl);
    return {
      ...uncompared,
      sampling: option.trajectories(options.samples),
      score: mixedScore(options.alpha),
      shaping: option.shapingOf(options),
      overlong: option.overlongTerm(options.overlong),
      returns: {
        outcome: terminalReturn,
        progress: roleProgress(options.discount, ownPenalties),
        action: withOutcome(options.outcomeWeight, immediateReturn),
      }[options.reward],
      tokenCredit: tokenGae(options.discount, options.lambda),
      whitening: options.whiten ? whitenTokens : null,
      objective: withKl(withEntropy(ppoClip(options, options.aggregation), options.entropy), kl),
      kl,
      critic: option.criticTerm(options, options.critic, "tokens"),
      selection: option.selection(options),
    };
  },
);

function jointActorCritic(
  name: string,
  summary: string,
  scope: "role" | "central",
  chain: "role" | "team",
): AlgorithmRow {
  const options = z.strictObject({
    samples: option.samples(1),
    reward: z.enum(["progress", "action"]).default("progress").describe(option.jointProgress),
    alpha: option.alpha,
    discount: option.discount,
    lambda: lambda(0),
    ...option.criticOptions,
    whiten,
    aggregation: option.aggregation("sequence-sum"),
    ...option.klOption("none", "k1"),
    ...option.entropy,
    ...option.truncated,
    ...option.overlong,
  });
  return row(`${name}, arXiv 2601.21972; as in CoMLRL v1.3.2`, summary, options, (chosen) => {
    const kl = option.klTerm(chosen.kl);
    const progress =
      chain === "role" ? roleProgress(chosen.discount, sharedPenalties) : teamProgress(chosen.discount);
    return {
      ...uncompared,
      sampling: option.trajectories(chosen.samples),
      score: mixedScore(chosen.alpha),
      overlong: option.overlongTerm(chosen.overlong),
      returns: chosen.reward === "progress" ? progress : jointReturn(jointReward),
      tokenCredit: actionGae(chain, chosen.discount, chosen.lambda),
      whitening: chosen.whiten ? whitenActions : null,
      objective: withKl(withEntropy(policyGradient(chosen.aggregation), chosen.entropy), kl),
      kl,
      critic: option.criticTerm(chosen, scope, "prompt"),
      selection: option.selection(chosen),
    };
  });
}

export const iac = jointActorCritic(
  "IAC (CoLLM-DC)",
  "each role learns from the joint reward and its own critic",
  "role",
  "role",
);

export const maac = jointActorCritic(
  "MAAC (CoLLM-CC)",
  "simultaneous roles learn from the joint reward and one critic that sees all their prompts",
  "central",
  "team",
);
