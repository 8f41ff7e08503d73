/**
 * The records in a run folder's files; those of checkpoints and episodes have files of their own. Every record carries `schema_version`; a reader that meets another version
 * reports it. Wall-clock times have their own records, so that all others are bit-identical in every run of a recipe.
 */
import { z } from "zod";

export const schemaVersion = 1;

/** First in every record. */
export const header = { schema_version: z.literal(schemaVersion) };
export const stage = z.enum(["warm-start", "reinforcement"]);
const place = {
  /** Counted from 1 over both stages. */
  step: z.int().min(1),
  stage,
  /** Counted from 1 within the stage. */
  stageStep: z.int().min(1),
};

/** What was asked of services outside the process, by name: counts only. */
const servicesSchema = z.record(
  z.string(),
  z.object({
    /** Questions, with those whose answer was recorded before. */
    calls: z.int(),
    /** Those that ended with a reply that is none. Absent: 0, as for the others. */
    faults: z.int().optional(),
    /** Those that ended without a reply, in spite of retries. */
    failures: z.int().optional(),
    /** Attempts after the first. */
    retries: z.int().optional(),
  }),
);
export type ServiceCounts = z.output<typeof servicesSchema>;

const policyMetrics = z.object({
  /** Mean over the step's optimizer steps, each a mean over its tokens. */
  loss: z.number(),
  /** Tokens trained on, over all optimizer steps. */
  tokens: z.int(),
  optimizerSteps: z.int(),
  learningRate: z.number(),
  /** Largest norm before clipping. Absent if the engine does not measure it. */
  gradientNorm: z.number().optional(),
  /** Nats per token. Measured by updates: absent if a step made none, or the engine does not measure it. */
  entropy: z.number().optional(),
  /** Nats per token, between the sampling and the trained policy. Absent likewise. */
  kl: z.number().optional(),
  /** Share of tokens whose gradient the clip removed. */
  clipShare: z.number(),
  /**
   * If the batch was sampled by an earlier version of the policy: the mean weight of its tokens, and the share of
   * those whose weight was truncated.
   */
  importance: z.object({ weight: z.number(), truncated: z.number() }).optional(),
  /** If the algorithm has a reference: nats per sampled token between the sampling policy and the reference (k3). */
  referenceKl: z.number().optional(),
  /** The coefficient of that divergence in this step; changes between steps if adaptive. */
  klCoefficient: z.number().optional(),
});
export type PolicyMetrics = z.output<typeof policyMetrics>;

const criticMetrics = policyMetrics
  .pick({
    loss: true,
    tokens: true,
    optimizerSteps: true,
    learningRate: true,
    gradientNorm: true,
    clipShare: true,
  })
  .extend({
    /** 1 − Var(target − value) / Var(target), of the values before the update: 1 is perfect, 0 as good as a constant. */
    explainedVariance: z.number(),
  });
export type CriticMetrics = z.output<typeof criticMetrics>;

const roleMetrics = z.object({
  actions: z.int(),
  /** Means over the actions with a reward; null: there are none. */
  team: z.number().nullable(),
  local: z.number().nullable(),
  /** Mean of each term of the local reward. */
  parts: z.record(z.string(), z.number()),
  /** Standard deviation of the advantages. */
  advantageSpread: z.number(),
  /** Share of actions that reached the token limit. */
  truncated: z.number(),
  /** Mean tokens of an action. Absent in records of earlier versions. */
  length: z.number().optional(),
  /**
   * Nats per token: minus the mean log-probability of what it sampled, whose expectation is the policy's entropy there.
   * Absent: it was sampled at another temperature than 1, or from a part of the distribution.
   */
  entropy: z.number().optional(),
  /** Share of its groups with zero variance. Absent: it is not trained, or no two of its actions are compared. */
  flatGroups: z.number().optional(),
  /**
   * Its share of Σ |advantage| over the tokens trained on, each divided by the divisor of its policy's loss. Absent: it is
   * not trained, or every advantage of the step is 0.
   */
  advantageShare: z.number().optional(),
  /**
   * Nats per token by which the log-probabilities of the next role's replies change on average, in either direction, if
   * what this role wrote is replaced by another of its samples. Absent: not measured in this step.
   */
  influence: z.number().optional(),
  /** The replies that it was measured on: with few it says little. */
  influenceReplies: z.int().optional(),
  /** All that it did earned as much as what it is compared with. Absent: not so, or the role is not trained. */
  flat: z.literal(true).optional(),
});
export type RoleMetrics = z.output<typeof roleMetrics>;

const rolloutMetrics = z.object({
  episodes: z.int(),
  /** Waves in which tasks were sampled. */
  waves: z.int().optional(),
  /** Episodes excluded from the update because all their groups had zero variance (dynamic sampling). */
  dropped: z.int().optional(),
  /** Episodes lost to failing services, in no other figure. Absent: none. */
  failed: z.int().optional(),
  /** Actions of trained roles excluded from the update because a reward is missing. Absent: none. */
  unrewarded: z.int().optional(),
  /** Actions whose verdict failed. Absent: none. */
  unjudged: z.int().optional(),
  /**
   * Actions of trained roles that were sampled and are not trained, by reason: `down-sampled`, or `continuation` of alternatives.
   * Absent: none.
   */
  leftOut: z.record(z.string(), z.int()).optional(),
  /** Of programs that drive themselves: prompts that do not continue what their role was shown, by reason. Absent: none. */
  branches: z.record(z.string(), z.int()).optional(),
  /** Tokens of these prompts, by reason: all are encoded again. Absent: none. */
  reencoded: z.record(z.string(), z.int()).optional(),
  /** Of such programs: actions that train nothing although their role learns, by reason. Absent: none. */
  masked: z.record(z.string(), z.int()).optional(),
  /** Runs of such programs that called nobody, and train nothing. Absent: none. */
  uncalled: z.int().optional(),
  /** Runs of such programs that failed, or whose reward cannot be read, by what went wrong: they earn 0. Absent: none. */
  problems: z.record(z.string(), z.int()).optional(),
  /** Rewards of such programs to roles or replies that the algorithm does not use. Absent: none. */
  unusedRewards: z.int().optional(),
  /** Share of the kept trajectories that end in success. */
  success: z.number(),
  score: z.number(),
  turns: z.number(),
  roles: z.record(z.string(), roleMetrics),
  groups: z.int(),
  /** Share of groups with zero variance: all members have the same return, so a baseline leaves no advantage. */
  flatGroups: z.number(),
  promptTokens: z.int(),
  /** By all roles, including dropped episodes. */
  sampledTokens: z.int(),
  /** The same since the start of reinforcement, including this step. */
  sampledSoFar: z.int().optional(),
  /**
   * Nats per token by which the log-probabilities of sampler and trainer differ, for the same weights; of the step's first
   * update. Absent: nothing was trained, an earlier version sampled, or the engine does not give them.
   */
  mismatch: z.number().optional(),
});
export type RolloutMetrics = z.output<typeof rolloutMetrics>;

/** One line of metrics.jsonl: one step. */
export const stepMetricsSchema = z.object({
  ...header,
  ...place,
  policies: z.record(z.string(), policyMetrics),
  /** If the algorithm has critics. */
  critics: z.record(z.string(), criticMetrics).optional(),
  /** Absent in the warm start. */
  rollout: rolloutMetrics.optional(),
  /** Absent: none was asked. */
  services: servicesSchema.optional(),
});
export type StepMetrics = z.output<typeof stepMetricsSchema>;

/** One line of timings.jsonl: the wall-clock time of one step or evaluation, in seconds. */
export const timingSchema = z.object({
  ...header,
  step: z.int().min(0),
  what: z.enum(["warm-start", "reinforcement", "evaluation"]),
  seconds: z.number().min(0),
  /** Of an evaluation: its team and the number of its episodes. */
  team: z.string().optional(),
  episodes: z.int().optional(),
  /** Seconds of sampling and of training. */
  sampling: z.number().min(0).optional(),
  training: z.number().min(0).optional(),
  /** Tokens of prompts that the engine computed, and those that it did not have to. Absent: none, or unknown. */
  prompts: z.object({ computed: z.int(), reused: z.int() }).optional(),
  /** What the run's coach has used up to then, evaluations and retries included. Absent: nothing, or it has none. */
  coach: z
    .object({
      /** Of questions and answers. */
      tokens: z.number(),
      /** At list prices. Absent: the price is not known. */
      dollars: z.number().optional(),
    })
    .optional(),
  /** Of services, by name: seconds of all attempts and of the slowest, and why the last question has no answer. */
  services: z
    .record(
      z.string(),
      z.object({ seconds: z.number(), slowest: z.number(), lastProblem: z.string().optional() }),
    )
    .optional(),
});
export type Timing = z.output<typeof timingSchema>;

/** The mean over tasks, and its standard error; null: there is one task. */
const meanSchema = z.object({ mean: z.number(), error: z.number().nullable() });
const termMeans = z.record(z.string(), meanSchema);

const calibrationSchema = z.object({
  /** Kendall's τ_b of the scores and the outcomes of the judged actions; null: one of them never varies. */
  correlation: z.number().nullable(),
  roles: z.record(z.string(), z.number().nullable()),
  /**
   * Verdicts that blame a role for a failed episode whose cause the environment knows, and those that name the right
   * one. Absent: none.
   */
  blame: z.object({ named: z.int(), correct: z.int() }).optional(),
});
export type Calibration = z.output<typeof calibrationSchema>;

/** One line of evaluations.jsonl: one team on the held-out tasks. */
export const evaluationSchema = z.object({
  ...header,
  step: z.int().min(0),
  moment: z.enum(["before", "during", "after"]),
  /** `team`, or the name of a team of evaluation.compare. */
  team: z.string(),
  /** Distinct tasks. */
  tasks: z.int().min(1),
  /** Episodes of each task. Absent: 1. */
  samples: z.int().optional(),
  /** Episodes, of all tasks together. */
  successes: z.int().min(0),
  /** Episodes lost to failing services, in no other figure. Absent: none. */
  failed: z.int().optional(),
  /** Runs of programs that drive themselves and called nobody: what they earned says nothing of the team. Absent: none. */
  uncalled: z.int().optional(),
  /** Runs of such programs that failed, or whose reward cannot be read, by what went wrong: they earn 0. Absent: none. */
  problems: z.record(z.string(), z.int()).optional(),
  /** 1 for each task that was solved, else 0, in their order. Absent: several episodes of a task, or some were lost. */
  solved: z.string().optional(),
  /** The split of the tasks. Absent: heldOut. */
  split: z.string().optional(),
  success: z.number(),
  /** 95 % interval of the success: Wilson's; with several samples of a task, with the effective number of episodes. */
  low: z.number(),
  high: z.number(),
  /** pass@k by k, with its 95 % interval. Absent: none was requested. */
  passAt: z.record(z.string(), z.object({ mean: z.number(), low: z.number(), high: z.number() })).optional(),
  score: z.number(),
  /** The terms of the rewards: of each role's last action, and of the team's last joint action. Absent: none. */
  terms: z.object({ team: termMeans, roles: z.record(z.string(), termMeans) }).optional(),
  /** Mean of a judge's scores over the actions, and actions whose verdict failed. Absent: none. */
  judged: z.number().optional(),
  unjudged: z.int().optional(),
  /** How a judge's verdicts agree with the environment. Absent: there are none. */
  calibration: calibrationSchema.optional(),
  /** Mean number of turns started. */
  turns: z.number(),
  /** Entry t: share of the tasks solved within t + 1 turns. */
  successByTurn: z.array(z.number()),
  promptTokens: z.int(),
  sampledTokens: z.int(),
  /** Asked in the evaluation. Absent: none. */
  services: servicesSchema.optional(),
});
export type Evaluation = z.output<typeof evaluationSchema>;

/** One line of watch.jsonl: a figure went beyond a limit of the recipe's `watch`, after this step. */
export const watchRecordSchema = z.object({
  ...header,
  step: z.int().min(1),
  /** The key of the limit in `watch.limits`. */
  measure: z.string(),
  /** The role or policy. Absent: the team. */
  of: z.string().optional(),
  /** The mean over the steps of the window; of an evaluation its success. */
  value: z.number(),
  /** Of influence: the replies of the window that it was measured on. */
  replies: z.int().optional(),
  /** As in the recipe: a drop is a share of the best. */
  limit: z.object({ kind: z.enum(["below", "above", "drop"]), at: z.number() }),
  /** The best mean, or the best evaluation. Absent: the limit is no drop. */
  best: z.number().optional(),
  /** Of an evaluation: the tasks that it has in common with the best one, on which they are compared. */
  tasks: z.int().optional(),
  /** Mean success of the window. */
  success: z.number(),
  /** What was done: after the last step, or without a checkpoint to return to, not what the limit asks for. */
  action: z.enum(["warn", "stop", "return"]),
  /** Where it returned to, as a step of the run, and what learning rates are multiplied by from then on. */
  returned: z.object({ to: z.int().min(0), learningRateFactor: z.number() }).optional(),
});
export type WatchRecord = z.output<typeof watchRecordSchema>;

/** result.json: the table as numbers. */
export const resultSchema = z.object({
  ...header,
  recipe: z.string(),
  seed: z.int(),
  engine: z.string(),
  steps: z.strictObject({ warmStart: z.int(), reinforcement: z.int() }),
  policies: z.record(
    z.string(),
    z.object({
      parameters: z.int(),
      trainableParameters: z.int(),
      /** In both stages. */
      optimizerSteps: z.int(),
      directory: z.string(),
    }),
  ),
  /** Before and after training, in the order of the table. */
  table: z.array(evaluationSchema),
  /** The best evaluation, whose checkpoint was kept. Absent: none was asked for. */
  best: z.object({ step: z.int(), success: z.number(), tasks: z.int() }).optional(),
  /** Episodes of training and evaluation lost to failing services. Absent: none. */
  failedEpisodes: z.int().optional(),
  /** Actions of training that trained nothing because a reward is missing. Absent: none. */
  unrewardedActions: z.int().optional(),
  /** Actions of training and evaluation whose verdict failed. Absent: none. */
  unjudgedActions: z.int().optional(),
  /** Limits that were crossed. Absent: none. */
  watch: z.array(watchRecordSchema).optional(),
  /** Roles that learned nothing in the last steps, and in how many; twenty at least. Absent: none. */
  flatRoles: z.record(z.string(), z.int()).optional(),
  /** In training and evaluation. Absent: none was asked. */
  services: servicesSchema.optional(),
  tokens: z.object({
    /** In reinforcement and in evaluations. */
    sampled: z.int(),
    /** In reinforcement only: what a comparison with equal samples keeps equal. */
    sampledInTraining: z.int(),
    /** By all policies, over all optimizer steps. */
    trained: z.int(),
  }),
  /** Wall-clock time; the only numbers that differ between two runs of one recipe. */
  seconds: z.object({
    warmStart: z.number(),
    reinforcement: z.number(),
    evaluation: z.number(),
    total: z.number(),
  }),
});
export type RunResult = z.output<typeof resultSchema>;
