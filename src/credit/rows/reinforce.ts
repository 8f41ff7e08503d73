/** Rows that credit each action individually, with the batch mean as baseline or none. */
import { z } from "zod";
import { type Columns, type Return, row } from "../algorithm.ts";
import { meanBaseline, movingBaseline, noBaseline, noScale } from "../baselines.ts";
import { batchGrouping, runRoleActionGrouping, runRoleGrouping, taskGrouping } from "../groups.ts";
import { policyGradient, ppoClip, withEntropy, withKl } from "../objectives.ts";
import {
  immediateReturn,
  laterProgress,
  outcomeReturn,
  trajectoryReturn,
  turnsReturn,
  withOutcome,
} from "../returns.ts";
import { mixedScore } from "../rewards.ts";
import { returnsToGo } from "../tokens.ts";
import { whitenTokens } from "../whitening.ts";
import * as option from "./options.ts";

type Reward = "action" | "turns" | "progress" | "outcome";

const described =
  "action: the action's reward. turns: also the role's later ones. progress: later changes of the score. outcome: the episode's score.";

const rewardOptions = {
  alpha: option.alpha,
  discount: option.discount,
  ...option.shaping,
  ...option.outcomeWeight,
};

interface Returned {
  readonly reward: Reward | "rewards";
  readonly discount: number;
  readonly outcomeWeight: number;
}

function returnsFor({ reward, discount, outcomeWeight }: Returned): Return {
  if (reward === "outcome") return outcomeReturn;
  if (reward === "progress") return laterProgress(discount);
  const ofRewards = {
    action: immediateReturn,
    turns: turnsReturn(discount),
    rewards: trajectoryReturn(discount),
  };
  return withOutcome(outcomeWeight, ofRewards[reward]);
}

interface Compared {
  readonly baseline: "none" | "batch" | "moving";
  readonly decay: number;
  readonly reward: Reward | "rewards";
}

function comparison({ baseline, decay, reward }: Compared): Pick<Columns, "grouping" | "baseline"> {
  if (baseline === "batch") return { grouping: batchGrouping, baseline: meanBaseline };
  if (baseline === "none") {
    return { grouping: { ...taskGrouping, sampleKey: batchGrouping.sampleKey }, baseline: noBaseline };
  }
  // A trajectory's actions share what it earned.
  const isShared = reward === "outcome" || reward === "rewards";
  const grouping = isShared ? runRoleGrouping : runRoleActionGrouping;
  return { grouping, baseline: movingBaseline(decay) };
}

export const reinforce = row(
  "REINFORCE, Williams 1992, sec. 4; moving baseline: SPIRAL, arXiv 2506.24119",
  "whole trajectories, each action credited with its return, optionally minus a mean of the batch or of the run so far",
  z.strictObject({
    samples: option.samples(1),
    baseline: z
      .enum(["none", "batch", "moving"])
      .default("none")
      .describe(
        "batch: mean over the policy's actions of the step. moving: of each role, a mean over the run so far (SPIRAL).",
      ),
    decay: z
      .number()
      .gt(0)
      .lt(1)
      .default(0.95)
      .describe("With `baseline: moving`: what is left of the mean after one more return."),
    reward: z
      .enum(["action", "turns", "progress", "outcome", "rewards"])
      .default("outcome")
      .describe(`${described} rewards: the role's on the whole trajectory.`),
    ...rewardOptions,
    aggregation: option.aggregation("token-mean"),
    ...option.klOption("none", "k1"),
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
      ...comparison(options),
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
    reward: z.enum(["action", "turns", "progress", "outcome"]).default("action").describe(described),
    ...rewardOptions,
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
