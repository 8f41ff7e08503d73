/** Rows that compare whole trajectories of one task. */
import { z } from "zod";
import { type Columns, type Grouping, row } from "../algorithm.ts";
import { leaveOneOutBaseline, meanBaseline, noScale, standardDeviation } from "../baselines.ts";
import { taskGrouping, taskRoleActionGrouping, taskRoleGrouping } from "../groups.ts";
import { policyGradient, ppoClip, sequenceClip, withEntropy, withKl } from "../objectives.ts";
import { outcomeReturn, teamReturn, trajectoryProgress, trajectoryReturn } from "../returns.ts";
import { mixedScore } from "../rewards.ts";
import * as option from "./options.ts";

const sharedOfTeams = { ...option.ofGroups, ...option.teamReward };

/** N trajectories per task, the mean as baseline, the episode's score as return. */
function trajectories(options: z.output<typeof trajectoryOptions>): Omit<Columns, "objective"> {
  return {
    ...option.plain,
    sampling: option.trajectories(options.samples),
    score: mixedScore(1),
    returns: options.reward === "rewards" ? teamReturn : outcomeReturn,
    grouping: taskGrouping,
    baseline: meanBaseline,
    scale: noScale,
    kl: option.klTerm(options.kl),
    selection: option.selection(options),
    overlong: option.overlongTerm(options.overlong),
  };
}

const trajectoryOptions = z.strictObject({ samples: option.samples(2), ...sharedOfTeams });

export const grpo = row(
  "GRPO, arXiv 2402.03300, eq. 3 and sec. 4.1.2, by default without the KL term",
  "N whole trajectories per task, rewarded with the episode's score",
  z.strictObject({
    samples: option.samples(2),
    standardise: option.standardise,
    ...option.clip(),
    aggregation: option.aggregation("token-mean"),
    ...sharedOfTeams,
  }),
  (options) => {
    const columns = trajectories(options);
    const objective = withKl(withEntropy(ppoClip(options, options.aggregation), options.entropy), columns.kl);
    return { ...columns, scale: options.standardise ? standardDeviation : noScale, objective };
  },
);

export const drGrpo = row(
  "Dr. GRPO, arXiv 2503.20783, sec. 3.2",
  "GRPO without dividing by a group's deviation or an action's length",
  z.strictObject({ samples: option.samples(2), ...option.clip(), ...sharedOfTeams }),
  (options) => {
    const columns = trajectories(options);
    return {
      ...columns,
      objective: withKl(withEntropy(ppoClip(options, "sequence-sum"), options.entropy), columns.kl),
    };
  },
);

export const gspo = row(
  "GSPO, arXiv 2507.18071, eq. 5 to 7",
  "GRPO with one ratio per action, clipped as a whole",
  z.strictObject({
    samples: option.samples(2),
    standardise: option.standardise,
    ...option.clip(0.0003, 0.0004),
    ...sharedOfTeams,
  }),
  (options) => {
    const columns = trajectories(options);
    const objective = withKl(withEntropy(sequenceClip(options), options.entropy), columns.kl);
    return { ...columns, scale: options.standardise ? standardDeviation : noScale, objective };
  },
);

export const rloo = row(
  "RLOO, arXiv 2402.14740, sec. 2.3",
  "N whole trajectories per task, each compared with the mean of the others",
  z.strictObject({
    samples: option.samples(2),
    aggregation: option.aggregation("sequence-sum"),
    ...sharedOfTeams,
  }),
  (options) => {
    const columns = trajectories(options);
    const objective = withKl(withEntropy(policyGradient(options.aggregation), options.entropy), columns.kl);
    return { ...columns, baseline: leaveOneOutBaseline, objective };
  },
);

const roleOptions = z.strictObject({
  samples: option.samples(2),
  reward: z
    .enum(["outcome", "progress", "rewards"])
    .default("outcome")
    .describe(
      "outcome: the episode's score. progress: discounted sum of its changes. rewards: discounted sum of the role's rewards.",
    ),
  alpha: option.alpha,
  discount: option.discount,
  standardise: option.standardise,
  ...option.clip(),
  aggregation: option.aggregation("token-mean"),
  ...option.ofGroups,
  ...option.shaping,
});

/** N trajectories of a team per task, each role compared with itself. */
function roleByRole(grouping: Grouping) {
  return (options: z.output<typeof roleOptions>): Columns => {
    const { reward, ...rest } = options;
    const columns = trajectories(rest);
    return {
      ...columns,
      score: mixedScore(options.alpha),
      shaping: option.shapingOf(options),
      returns: {
        outcome: outcomeReturn,
        progress: trajectoryProgress(options.discount),
        rewards: trajectoryReturn(options.discount),
      }[reward],
      grouping,
      scale: options.standardise ? standardDeviation : noScale,
      objective: withKl(withEntropy(ppoClip(options, options.aggregation), options.entropy), columns.kl),
    };
  };
}

export const masGrpo = row(
  "MAS-GRPO, the trajectory-level baseline of AT-GRPO, arXiv 2510.11062; advantage: GRPO, arXiv 2402.03300, sec. 4.1.2",
  "N whole trajectories of the team per task, compared role by role",
  roleOptions,
  roleByRole(taskRoleGrouping),
);

export const drMas = row(
  "Dr. MAS, arXiv 2602.08847, and its code",
  "MAS-GRPO in whose means and deviations each action of a role counts, not each trajectory",
  roleOptions,
  roleByRole(taskRoleActionGrouping),
);
