/** Rows that compare what was sampled from one state: AT-GRPO's actions of a role, MAGRPO's joint actions. */
import { z } from "zod";
import type { SamplingScheme } from "../../rollout/episode.ts";
import { type AlgorithmRow, type Baseline, type Columns, row } from "../algorithm.ts";
import {
  leaveOneOutBaseline,
  leaveOneOutDeviation,
  maxBaseline,
  meanBaseline,
  noBaseline,
  noScale,
  standardDeviation,
} from "../baselines.ts";
import { nodeGrouping, treeGrouping, turnGrouping } from "../groups.ts";
import { policyGradient, ppoClip, withEntropy, withKl } from "../objectives.ts";
import {
  immediateReturn,
  jointReturn,
  jointReward,
  progressReward,
  progressRoundReward,
  roundReward,
  roundsReturn,
  treeReturn,
} from "../returns.ts";
import { mixedScore } from "../rewards.ts";
import * as option from "./options.ts";

export const atGrpo = row(
  "AT-GRPO, arXiv 2510.11062, algorithm 1",
  "each role samples K actions from one state, the best is kept; compared by task, role and turn",
  z.strictObject({
    samples: option.samples(2),
    alpha: option.alpha,
    keep: z.enum(["best", "first", "random"]).default("best").describe("Which of the K actions is kept."),
    standardise: option.standardise,
    ...option.clip(),
    aggregation: option.aggregation("token-mean"),
    ...option.ofGroups,
    ...option.shaping,
  }),
  (options) => {
    const kl = option.klTerm(options.kl);
    return {
      ...option.plain,
      sampling: { branch: { root: options.samples, inner: options.samples }, keep: options.keep },
      score: mixedScore(options.alpha),
      shaping: option.shapingOf(options),
      overlong: option.overlongTerm(options.overlong),
      returns: immediateReturn,
      grouping: nodeGrouping,
      baseline: meanBaseline,
      scale: options.standardise ? standardDeviation : noScale,
      objective: withKl(withEntropy(ppoClip(options, options.aggregation), options.entropy), kl),
      kl,
      selection: option.selection(options),
    };
  },
);

const options = (least: number) =>
  z.strictObject({
    samples: option.samples(least),
    reward: z
      .enum(["progress", "action"])
      .optional()
      .describe(`${option.jointProgress} Default: progress with \`handOver: all\` or \`each\`, else action.`),
    alpha: option.alpha,
    joint: z
      .enum(["aligned", "cross"])
      .default("aligned")
      .describe("Pairing of simultaneous samples. aligned: the g-th of each role. cross: all combinations."),
    handOver: z
      .enum(["all", "each", "best", "random"])
      .default("all")
      .describe(
        "Joint actions from which the next phase continues. all: returns go back through the tree. each: with one joint action, as whole trajectories that are compared turn by turn.",
      ),
    discount: z
      .number()
      .min(0)
      .max(1)
      .optional()
      .describe("With `handOver: all` or `each`: γ of the returns, once per turn. Absent: 1."),
    terminationThreshold: z
      .number()
      .optional()
      .describe("A turn whose joint actions earn more than this on average is the last. Absent: off."),
    turnWeights: z
      .array(z.number().min(0))
      .min(1)
      .optional()
      .describe("Factor of each turn's advantages; one number per turn. Absent: 1."),
    earlyEndWeight: z
      .number()
      .min(0)
      .optional()
      .describe(
        "Additional factor of a turn that `terminationThreshold` made the last. Absent: 1; MAGRPO's first code: 2.",
      ),
    aggregation: option.aggregation("sequence-sum"),
    ...option.ofGroups,
  });

export interface RewardOptions {
  readonly reward?: "progress" | "action" | undefined;
  readonly handOver: "all" | "each" | "best" | "random";
}

/** If nothing is summed, the actions' own rewards are more informative than the score. */
export const rewardOf = ({ reward, handOver }: RewardOptions) =>
  reward ?? (sumsLater({ handOver }) ? "progress" : "action");

/** Whether returns sum the rewards of later turns. */
export const sumsLater = ({ handOver }: Pick<RewardOptions, "handOver">): boolean =>
  handOver === "all" || handOver === "each";

type Chosen = Pick<z.output<ReturnType<typeof options>>, "samples" | "joint" | "discount"> & RewardOptions;

function samplingOf({ samples, joint, handOver }: Chosen): SamplingScheme {
  if (handOver === "each") return { ...option.trajectories(samples), rounds: true };
  return { branch: { root: samples, inner: samples }, keep: handOver, joint };
}

/** What joint actions are credited with, and compared with. */
function comparison(chosen: Chosen): Pick<Columns, "returns" | "grouping"> {
  const { handOver, discount = 1 } = chosen;
  const isAction = rewardOf(chosen) === "action";
  if (handOver === "each")
    return {
      returns: roundsReturn(isAction ? roundReward : progressRoundReward, discount),
      grouping: turnGrouping,
    };
  const reward = isAction ? jointReward : progressReward;
  return handOver === "all"
    ? { returns: treeReturn(reward, discount), grouping: treeGrouping }
    : { returns: jointReturn(reward), grouping: nodeGrouping };
}

function collaboration(name: string, summary: string, baseline: Baseline, least: number): AlgorithmRow {
  const source = `${name}, arXiv 2508.04652, algorithm 1; tree and variants: CoMLRL v1.3.2`;
  return row(source, summary, options(least), (chosen) => {
    const kl = option.klTerm(chosen.kl);
    const { terminationThreshold: stopAbove } = chosen;
    return {
      ...option.plain,
      ...comparison(chosen),
      sampling: { ...samplingOf(chosen), ...(stopAbove === undefined ? {} : { stopAbove }) },
      score: mixedScore(chosen.alpha),
      overlong: option.overlongTerm(chosen.overlong),
      baseline,
      scale: noScale,
      turnWeights: chosen.turnWeights ?? null,
      earlyEndWeight: chosen.earlyEndWeight ?? 1,
      objective: withKl(withEntropy(policyGradient(chosen.aggregation), chosen.entropy), kl),
      kl,
      selection: option.selection(chosen),
    };
  });
}

export const magrpo = collaboration(
  "MAGRPO",
  "roles that act simultaneously share the reward of their joint action; compared with the group's mean",
  meanBaseline,
  2,
);

export const mareinforce = collaboration("MAREINFORCE", "MAGRPO without a baseline", noBaseline, 1);

export const marloo = collaboration(
  "MARLOO",
  "MAGRPO with the mean of the others: G / (G − 1) times its advantage",
  leaveOneOutBaseline,
  2,
);

export const maremax = collaboration(
  "MAReMax",
  "MAGRPO with the group's maximum as baseline: all but the best are discouraged",
  maxBaseline,
  2,
);

/** Each alternative of a state is worth the mean score to which episodes that continue from it come. */
export const c3 = row(
  "C3, arXiv 2603.06859, and its code without a critic",
  "alternatives in every state of a trajectory, each continued to the end; compared with the mean of the others",
  z.strictObject({
    samples: z.int().min(2).default(4).describe("Alternatives that each role samples in a state."),
    first: z
      .int()
      .min(2)
      .optional()
      .describe("Alternatives at the first decision. Absent: as many as `samples`."),
    continued: z
      .enum(["once", "tree"])
      .default("once")
      .describe(
        "once: alternatives to a trajectory, each continued to the end by one sample per decision. tree: by all that are compared in its states.",
      ),
    joint: z
      .enum(["aligned", "cross"])
      .default("aligned")
      .describe("Pairing of simultaneous samples. aligned: the g-th of each role. cross: all combinations."),
    standardise: z.boolean().default(false).describe("Divide by the standard deviation of what is left."),
    ...option.clip(),
    aggregation: option.aggregation("token-mean"),
    ...option.ofGroups,
  }),
  (chosen) => {
    const kl = option.klTerm(chosen.kl);
    const { samples, first = samples, joint, continued } = chosen;
    return {
      ...option.plain,
      sampling: {
        branch: { root: first, inner: samples },
        keep: "all",
        joint,
        ...(continued === "once" ? { continued } : {}),
      },
      score: mixedScore(1),
      overlong: option.overlongTerm(chosen.overlong),
      returns: treeReturn(progressReward, 1),
      grouping: treeGrouping,
      baseline: leaveOneOutBaseline,
      scale: chosen.standardise ? leaveOneOutDeviation : noScale,
      objective: withKl(withEntropy(ppoClip(chosen, chosen.aggregation), chosen.entropy), kl),
      kl,
      selection: option.selection(chosen),
    };
  },
);
