/** Options that several rows share, each with the columns that it fills. */
import { z } from "zod";
import type { SamplingScheme } from "../../rollout/episode.ts";
import type { Aggregation, CriticTerm, KlTerm, Overlong, Selection, Shaping } from "../algorithm.ts";
import { marginShaping } from "../shaping/margin.ts";
import { qualityShaping } from "../shaping/quality.ts";

export const samples = (least: number): z.ZodDefault<z.ZodInt> =>
  z
    .int()
    .min(least)
    .default(8)
    .meta({
      description: "Actions (or trajectories) sampled for comparison: the papers' K, N, G.",
      ...(least < 2 ? {} : { $comment: loneSample }),
    });

const loneSample =
  "a group of one has nothing to compare, every advantage would be 0: sample 2 or more, or take `name: reinforce`, which compares with nothing or with the batch";

export const alpha = z.number().min(0).default(1).describe("Weight of the team's reward: α·team + local.");

export const discount = z
  .number()
  .min(0)
  .max(1)
  .default(1)
  .describe("γ, once per turn. Within a turn and within an action nothing is discounted.");

export const standardise = z.boolean().default(true).describe("Divide by the group's standard deviation.");

export const aggregation = (standard: Aggregation): z.ZodDefault<z.ZodEnum<{ [A in Aggregation]: A }>> =>
  z
    .enum(["token-mean", "sequence-mean", "sequence-sum"])
    .default(standard)
    .describe(
      "token-mean: every token of the batch weighs the same. sequence-mean: every action does. sequence-sum: sum over an action's tokens, mean over actions.",
    );

/** Whole trajectories: N lines that part at the root. */
export function lines(count: number): SamplingScheme {
  return { branch: { root: count, inner: 1 }, keep: "all" };
}

/** Defaults of PPO, or the row's own. */
export const clip = (low = 0.2, high = 0.2) => ({
  clipLow: z.number().gt(0).lt(1).default(low).describe("PPO: the ratio is clipped at 1 − clipLow."),
  clipHigh: z.number().gt(0).default(high).describe("PPO: the ratio is clipped at 1 + clipHigh."),
  dualClip: z
    .number()
    .gt(1)
    .optional()
    .describe("PPO: where A < 0, the term is bounded by this times A. Absent: off. Usual: 3."),
});

const standardKl = { coefficient: 0.01, horizon: 10000 } as const;

/** `kl` with the row's own defaults. */
export const klOption = (
  where: KlOptions["where"],
  estimator: KlOptions["estimator"],
): { kl: z.ZodType<KlOptions> } => ({
  kl: z
    .strictObject({
      where: z
        .enum(["none", "reward", "loss"])
        .default(where)
        .describe("What KL to the reference is added to; none: it is not computed."),
      estimator: z
        .enum(["k1", "k2", "k3"])
        .default(estimator)
        .describe("With d = log π − log π_ref: k1 = d, in the reward only; k2 = d²/2; k3 = e^−d − 1 + d."),
      coefficient: z.number().min(0).default(standardKl.coefficient).describe("β, at the start."),
      target: z
        .number()
        .gt(0)
        .optional()
        .describe("KL per token that β is steered towards. Absent: β stays as it is."),
      horizon: z
        .int()
        .min(1)
        .default(standardKl.horizon)
        .describe("With a target: tokens in which β changes by a fifth at most."),
    })
    .prefault({})
    .describe("KL to a reference: the policies as they were when reinforcement began."),
});

export interface KlOptions {
  readonly where: "none" | "reward" | "loss";
  readonly estimator: "k1" | "k2" | "k3";
  readonly coefficient: number;
  readonly target?: number | undefined;
  readonly horizon: number;
}

export function klTerm({ where, target, ...rest }: KlOptions): KlTerm | null {
  return where === "none" || rest.coefficient === 0 ? null : { where, target: target ?? null, ...rest };
}

export const truncated = {
  truncated: z
    .enum(["train", "mask"])
    .default("train")
    .describe("Actions cut off by their length: train them, or keep them in their group's statistics only."),
};

export const dynamicSampling = {
  dynamicSampling: z
    .boolean()
    .default(false)
    .describe(
      "Drop the tasks whose groups all have zero variance, and sample others until the step is full.",
    ),
  refills: z
    .int()
    .min(0)
    .default(3)
    .describe("With dynamicSampling: how many times a step samples again at most."),
};

export function selection(options: {
  readonly truncated: "train" | "mask";
  readonly dynamicSampling?: boolean;
  readonly refills?: number;
}): Selection {
  const dropZeroVariance = options.dynamicSampling ?? false;
  const refills = dropZeroVariance ? (options.refills ?? 0) : 0;
  return { dropZeroVariance, refills, truncated: options.truncated };
}

export const overlong = {
  overlong: z
    .strictObject({
      length: z.int().min(1).describe("Tokens of an action from which on the whole penalty is due."),
      buffer: z.int().min(1).describe("Tokens before `length` over which the penalty grows from 0."),
      penalty: z.number().gt(0).default(1).describe("Taken from the reward at most."),
    })
    .optional()
    .describe("Soft penalty on long actions (DAPO). Absent: none."),
};

export function overlongTerm(option: Overlong | undefined): Overlong | null {
  return option ?? null;
}

export const shaping = {
  shaping: z
    .enum(["none", "margin", "quality"])
    .default("none")
    .describe("Team reward shaped by those of the actions before it in the episode (MARTI)."),
  shapingWeight: z.number().min(0).default(0.5).describe("With shaping: MARTI's α."),
};

export const outcomeWeight = {
  outcomeWeight: z
    .number()
    .min(0)
    .default(0)
    .describe("Adds this times the episode's score to each return that is not the score itself (MARTI's β)."),
};

/** Said in a description before the default. */
export const jointProgress =
  "The reward that roles which act at once share. progress: the change of the episode's score; adds up to the score, whatever the way. action: the mean of what their actions were paid.";

export function shapingOf(options: {
  readonly shaping: "none" | "margin" | "quality";
  readonly shapingWeight: number;
}): Shaping | null {
  if (options.shaping === "none") return null;
  return { margin: marginShaping, quality: qualityShaping }[options.shaping](options.shapingWeight);
}

export const criticOptions = {
  valueClip: z
    .number()
    .gt(0)
    .optional()
    .describe("The value moves at most this far from the old one within the loss. Absent: off."),
  criticLearningRate: z.number().gt(0).optional().describe("Default: that of the train section."),
  criticEpochs: z.int().min(1).default(1).describe("Passes of the critic over a step's data."),
};

export function criticTerm(
  options: {
    readonly valueClip?: number | undefined;
    readonly criticLearningRate?: number | undefined;
    readonly criticEpochs: number;
  },
  scope: CriticTerm["scope"],
  at: CriticTerm["at"],
): CriticTerm {
  return {
    scope,
    at,
    clip: options.valueClip ?? null,
    learningRate: options.criticLearningRate ?? null,
    epochs: options.criticEpochs,
  };
}
