/** What rows have in common: options, each with the columns it sets, and columns that most leave empty. */
import { z } from "zod";
import type { SamplingScheme } from "../../rollout/episode.ts";
import type { Aggregation, Columns, CriticTerm, KlTerm, Overlong, Selection, Shaping } from "../algorithm.ts";
import { marginShaping, qualityShaping } from "../rewards.ts";
import { broadcast } from "../tokens.ts";

/** The columns that most rows leave empty. */
export const plain = {
  shaping: null,
  overlong: null,
  tokenCredit: broadcast,
  whitening: null,
  turnWeights: null,
  earlyEndWeight: 1,
  kl: null,
  critic: null,
  selection: { dropZeroVariance: false, refills: 0, truncated: "train" },
} as const satisfies Partial<Columns>;

export const samples = (least: number): z.ZodDefault<z.ZodInt> =>
  z
    .int()
    .min(least)
    .default(8)
    .meta({
      description: "Actions or trajectories per group: the papers' K, N, G.",
      ...(least < 2 ? {} : { $comment: loneSample }),
    });

const loneSample =
  "a group of one has advantage 0: use 2 or more samples, or `name: reinforce`, which compares with nothing or with the batch";

export const alpha = z.number().min(0).default(1).describe("Weight of the team reward: α·team + local.");

export const discount = z.number().min(0).max(1).default(1).describe("γ, once per turn.");

export const standardise = z.boolean().default(true).describe("Divide by the group's standard deviation.");

export const aggregation = (standard: Aggregation): z.ZodDefault<z.ZodEnum<{ [A in Aggregation]: A }>> =>
  z
    .enum(["token-mean", "sequence-mean", "sequence-sum"])
    .default(standard)
    .describe(
      "token-mean: mean over all tokens. sequence-mean: mean over actions of token means. sequence-sum: mean over actions of token sums.",
    );

/** Whole trajectories: N that branch at the root. */
export function trajectories(count: number): SamplingScheme {
  return { branch: { root: count, inner: 1 }, keep: "all" };
}

/** PPO's defaults, or the row's own. */
export const clip = (low = 0.2, high = 0.2) => ({
  clipLow: z.number().gt(0).lt(1).default(low).describe("The ratio is clipped at 1 − clipLow."),
  clipHigh: z.number().gt(0).default(high).describe("The ratio is clipped at 1 + clipHigh."),
  dualClip: z
    .number()
    .gt(1)
    .optional()
    .describe("For A < 0 the term is at least this times A, usually 3. Absent: off."),
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
        .describe("Where KL to the reference is added."),
      to: z
        .string()
        .min(1)
        .optional()
        .describe(
          "The reference: a policy of the run, as it is when the step is measured. Absent: each policy as it was at the start of reinforcement.",
        ),
      estimator: z
        .enum(["k1", "k2", "k3"])
        .default(estimator)
        .describe("k1 = d (reward only), k2 = d²/2, k3 = e^−d − 1 + d, with d = log π − log π_ref."),
      coefficient: z.number().min(0).default(standardKl.coefficient).describe("Initial β."),
      target: z
        .number()
        .gt(0)
        .optional()
        .describe("KL per token that β is adapted to. Absent: β is constant."),
      horizon: z
        .int()
        .min(1)
        .default(standardKl.horizon)
        .describe("With target: tokens over which β changes by at most a fifth."),
    })
    .prefault({})
    .describe("KL to a reference."),
});

export const entropy = {
  entropy: z
    .number()
    .gt(0)
    .optional()
    .describe("Bonus c·H per token in the loss, H being the distribution's entropy. Absent: none."),
};

export interface KlOptions {
  readonly where: "none" | "reward" | "loss";
  readonly to?: string | undefined;
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
    .describe("Actions cut off by their length limit: train, or use in group statistics only."),
};

export const dynamicSampling = {
  dynamicSampling: z.boolean().default(false).describe("Replace tasks whose groups all have zero variance."),
  refills: z
    .int()
    .min(0)
    .default(3)
    .describe("With dynamicSampling: maximum rounds of replacement per step."),
};

export const downSample = {
  downSample: z
    .int()
    .min(2)
    .optional()
    .describe(
      "Samples of each group that are compared and trained: those of largest variance (PODS). Absent: all.",
    ),
};

export function selection(options: {
  readonly truncated: "train" | "mask";
  readonly dynamicSampling?: boolean;
  readonly refills?: number;
  readonly downSample?: number | undefined;
}): Selection {
  const { downSample: size } = options;
  const dropZeroVariance = options.dynamicSampling ?? false;
  const refills = dropZeroVariance ? (options.refills ?? 0) : 0;
  const kept = size === undefined ? {} : { downSample: size };
  return { dropZeroVariance, refills, truncated: options.truncated, ...kept };
}

export const overlong = {
  overlong: z
    .strictObject({
      length: z.int().min(1).describe("Tokens at which the whole penalty applies."),
      buffer: z.int().min(1).describe("Tokens before length over which the penalty grows from 0."),
      penalty: z.number().gt(0).default(1).describe("Maximum penalty."),
    })
    .optional()
    .describe("Soft penalty on long actions (DAPO). Absent: none."),
};

/** Of rows that compare samples of one state or task. */
export const ofGroups = {
  ...klOption("none", "k3"),
  ...entropy,
  ...truncated,
  ...dynamicSampling,
  ...downSample,
  ...overlong,
};

export function overlongTerm(option: Overlong | undefined): Overlong | null {
  return option ?? null;
}

export const shaping = {
  shaping: z
    .enum(["none", "margin", "quality"])
    .default("none")
    .describe("MARTI's shaping of the team reward by those of earlier actions."),
  shapingWeight: z.number().min(0).default(0.5).describe("With shaping: its α."),
};

export const outcomeWeight = {
  outcomeWeight: z
    .number()
    .min(0)
    .default(0)
    .describe("Adds this times the episode's score to returns made of action rewards (MARTI's β)."),
};

export const teamReward = {
  reward: z
    .enum(["outcome", "rewards"])
    .optional()
    .describe("outcome: the episode's score. rewards: the sum of all actions' rewards. Absent: outcome."),
};

export const jointProgress =
  "Shared by roles that act simultaneously. progress: change of the score. action: mean of their actions' rewards.";

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
    .describe("Clips values to this distance from the old ones. Absent: off."),
  criticLearningRate: z.number().gt(0).optional().describe("Default: train.learningRate."),
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
