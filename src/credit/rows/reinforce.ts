/** Rows that credit each action individually, with the batch mean as baseline or none. */
import { z } from "zod";
import { type Return, row } from "../algorithm.ts";
import { meanBaseline, noBaseline, noScale } from "../baselines.ts";
import { batchGrouping, taskGrouping } from "../groups.ts";
import { policyGradient, ppoClip, withEntropy, withKl } from "../objectives.ts";
import { immediateReturn, laterProgress, outcomeReturn, turnsReturn, withOutcome } from "../returns.ts";
import { mixedScore } from "../rewards.ts";
import { returnsToGo } from "../tokens.ts";
import { whitenTokens } from "../whitening.ts";
import * as option from "./options.ts";

type Reward = "action" | "turns" | "progress" | "outcome";

const rewardOptions = (standard: Reward) => ({
  reward: z
    .enum(["action", "turns", "progress", "outcome"])
    .default(standard)
    .describe(
      "action: the action's reward. turns: also the role's later ones. progress: later changes of the score. outcome: the episode's score.",
    ),
  alpha: option.alpha,
  discount: option.discount,
  ...option.shaping,
  ...option.outcomeWeight,
});

function returnsFor(options: { reward: Reward; discount: number; outcomeWeight: number }): Return {
  if (options.reward === "outcome") return outcomeReturn;
  if (options.reward === "progress") return laterProgress(options.discount);
  const own = options.reward === "action" ? immediateReturn : turnsReturn(options.discount);
  return withOutcome(options.outcomeWeight, own);
}

export const reinforce = row(
  "REINFORCE, Williams 1992, sec. 4",
  "whole trajectories, each action credited with its return, optionally minus the batch mean",
  z.strictObject({
    samples: option.samples(1),
    baseline: z
      .enum(["none", "batch"])
      .default("none")
      .describe("batch: mean over the policy's actions of the step."),
    ...rewardOptions("outcome"),
    aggregation: option.aggregation("token-mean"),
    ...option.klOption("none", "k1"),
    ...option.entropy,
    ...option.truncated,
    ...option.overlong,
  }),
  (options) => {
    const kl = option.klTerm(options.kl);
    const isBatch = options.baseline === "batch";
    return {
      ...option.plain,
      sampling: option.trajectories(options.samples),
      score: mixedScore(options.alpha),
      shaping: option.shapingOf(options),
      overlong: option.overlongTerm(options.overlong),
      returns: returnsFor(options),
      grouping: isBatch ? batchGrouping : { ...taskGrouping, sampleKey: batchGrouping.sampleKey },
      baseline: isBatch ? meanBaseline : noBaseline,
      scale: noScale,
      objective: withKl(withEntropy(policyGradient(options.aggregation), options.entropy), kl),
      kl,
      selection: option.selection(options),
    };
  },
);

export const reinforcePlusPlus = row(
  "REINFORCE++, arXiv 2501.03262v9, eq. 8 to 10; per action as in MAPPA",
  "each action's own reward, KL charged per token, whitened over the policy's batch",
  z.strictObject({
    samples: option.samples(1),
    ...rewardOptions("action"),
    ...option.clip(),
    aggregation: option.aggregation("token-mean"),
    ...option.klOption("reward", "k1"),
    ...option.entropy,
    ...option.truncated,
    ...option.overlong,
  }),
  (options) => {
    const kl = option.klTerm(options.kl);
    return {
      ...option.plain,
      sampling: option.trajectories(options.samples),
      score: mixedScore(options.alpha),
      shaping: option.shapingOf(options),
      overlong: option.overlongTerm(options.overlong),
      returns: returnsFor(options),
      grouping: batchGrouping,
      baseline: noBaseline,
      scale: noScale,
      tokenCredit: returnsToGo,
      whitening: whitenTokens,
      objective: withKl(withEntropy(ppoClip(options, options.aggregation), options.entropy), kl),
      kl,
      selection: option.selection(options),
    };
  },
);
