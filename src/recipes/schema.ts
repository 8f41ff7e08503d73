/**
 * The shape of a recipe. Every key is checked, unknown keys are errors.
 * The descriptions are the manual: `troupe recipes --keys` and `--schema` print them.
 */
import { z } from "zod";
import { engineSettings } from "../engines/open.ts";
import { clientShape, hasAddress, lacksAddress } from "../clients/options.ts";
import { loggingSettings } from "../logging/settings.ts";
import { fusedProjections, projections } from "../models/adapter-options.ts";
import { toolSettings } from "../tools/settings.ts";
import { watchSchema } from "./watch.ts";

const count = z.int().min(1);
const fraction = z.number().min(0).max(1);
/** More is a slip of the keyboard: it would take years, or all memory before the first step. */
const tasks = count.max(1_000_000);
/** A rate that the engine's float32 holds; AdamW moves each weight by about this much per step. */
const learningRate = z.number().min(1e-30).max(1);
const name = z
  .string()
  .regex(
    /^[A-Za-z][\w-]*$/,
    "a name: letters from A to Z, digits, dashes and underscores, starting with a letter",
  );

/** Keys that name a module. */
const module = {
  module: z
    .string()
    .min(1)
    .optional()
    .describe("Instead of name: a file, relative to this one, or an installed package."),
  export: z.string().min(1).optional().describe("Export of the module. Default: its default export."),
  moduleHash: z.string().optional().describe("Written into a run's recipe: hash of the module at the start."),
};

const environment = z
  .looseObject({ name: z.string().optional().describe("One of the environments below."), ...module })
  .describe("The environment's name or module, and its options.");

const engine = z.union([
  ...engineSettings.options,
  z.looseObject({
    ...module,
    module: z.string().min(1).describe("Instead of type: a file, relative to this one, or a package."),
  }),
]);

const role = z.strictObject({
  seat: z.string().optional().describe("Seat of the environment. Default: the role's name."),
  policy: name.describe("The role's policy; roles may share one."),
  prompt: z.string().optional().describe("System message. Default: the seat's."),
  frozen: z.boolean().default(false).describe("The role acts, but its actions train nothing."),
  memory: z
    .enum(["turn", "conversation"])
    .default("turn")
    .describe("turn: a new prompt for each action. conversation: the prompt grows over the episode."),
  maxTokens: count.optional().describe("Maximum tokens of an action. Default: the seat's."),
  stop: z.array(z.string().min(1)).default([]).describe("Strings that end an action."),
  showThinking: z
    .boolean()
    .optional()
    .describe("Later roles see its thinking after their observation. Default: it is hidden."),
  tools: z
    .array(toolSettings)
    .min(1)
    .optional()
    .describe("Tools it may call: `python`, or the name of a tool with its options. Default: none."),
  toolCalls: count
    .max(1000)
    .optional()
    .describe("Most calls before it must reply, in each of its turns. Default: 4."),
});

const { temperature, ...serviceShape } = clientShape;

/** A role that a model of a service plays. */
const hosted = z
  .strictObject({
    ...serviceShape,
    temperature: temperature.unwrap().optional().describe("Sampling temperature. Default: the service's."),
    prompt: z.string().optional().describe("System message of requests without one. Default: none."),
  })
  .refine(hasAddress, lacksAddress);

export const teamSchema = z
  .strictObject({
    roles: z.record(name, role).describe("The roles, by name."),
    hosted: z
      .record(name, hosted)
      .optional()
      .describe(
        "Roles of a program that drives itself (`environment: command`) that models of services play, by name: they act, and learn nothing.",
      ),
    phases: z
      .array(z.array(name).min(1))
      .optional()
      .describe(
        "Order of acting in a turn; roles of one phase act simultaneously. Default: each role in turn. Must be absent if the environment decides who acts.",
      ),
    turns: count.max(4096).describe("Maximum turns of an episode."),
  })
  .transform(({ phases, ...team }) => ({
    ...team,
    phases: phases ?? Object.keys(team.roles).map((each) => [each]),
  }));

const adapter = z.strictObject({
  rank: count.max(4096).default(8).describe("LoRA rank."),
  alpha: z.number().positive().default(16).describe("The product is scaled by alpha / rank."),
  targetModules: z
    .array(z.enum([...projections, ...fusedProjections]))
    .min(1)
    .default([...projections])
    .describe(
      "Projections with an adapter. Phi-3 computes q, k and v as qkv_proj, gate and up as gate_up_proj.",
    ),
});

const policy = z.strictObject({
  model: z
    .union([z.strictObject({ preset: z.string() }), z.strictObject({ path: z.string() })])
    .describe(
      "preset: a new untrained model. path: a Hugging Face model directory or a PEFT adapter directory, relative to the recipe's file (in an override, to the working directory).",
    ),
  adapter: adapter
    .optional()
    .describe(
      "Train a LoRA adapter instead of the whole model. Default for an adapter directory: its settings.",
    ),
  templateVariables: z
    .record(z.string(), z.union([z.boolean(), z.number(), z.string()]))
    .optional()
    .describe("Passed to the model's chat template, such as `enable_thinking: false`."),
  learningRate: learningRate.optional().describe("Default: train.learningRate."),
});

const schedule = z.enum(["constant", "linear", "cosine"]);
const optimizer = {
  learningRate: learningRate.describe("Peak learning rate of AdamW."),
  schedule: schedule
    .default("constant")
    .describe("Decay after warm-up; linear and cosine end at finalLearningRate."),
  finalLearningRate: fraction.default(0.1).describe("Final learning rate as a share of learningRate."),
  warmupSteps: z.int().min(0).default(0).describe("Steps of linear warm-up from 0."),
  weightDecay: z.number().min(0).default(0).describe("Decoupled weight decay."),
  beta1: z.number().min(0).max(0.99999).default(0.9).describe("Decay of AdamW's first moment."),
  beta2: z.number().min(0).max(0.99999).default(0.95).describe("Decay of AdamW's second moment."),
  epsilon: z.number().min(1e-30).max(1).default(1e-8).describe("Added to AdamW's denominator."),
  clipNorm: z
    .number()
    .min(0)
    .refine((norm) => norm === 0 || norm >= 1e-30, "0 or a number of at least 1e-30")
    .default(1)
    .describe("Maximum gradient norm; 0: no clipping."),
};

const warmStart = z.strictObject({
  steps: count.describe("Supervised steps."),
  demonstrationsPerStep: tasks
    .default(64)
    .describe("Tasks demonstrated per step, with one example per seat."),
  teach: z
    .enum(["policies", "bases"])
    .default("policies")
    .describe(
      "policies: each policy learns its own roles' examples. bases: each base model learns the examples of all its roles, and its policies start from there.",
    ),
  ...optimizer,
});

const train = z.strictObject({
  steps: z.int().min(0).describe("Steps of reinforcement; 0: warm start only."),
  tasksPerStep: tasks.describe("Tasks per step."),
  tokensPerStep: count
    .max(1_000_000_000)
    .optional()
    .describe(
      "Tokens sampled per step by all roles, averaged over the steps so far: tasks are added to tasksPerStep until reached. Replaces the refills of dynamic sampling.",
    ),
  maxLag: z
    .int()
    .min(0)
    .max(1)
    .optional()
    .describe(
      "1: a step's episodes are sampled while the step before it trains, from the weights before that step; importance weights correct for it. Default: 0.",
    ),
  minibatches: count.default(1).describe("Optimizer steps per epoch."),
  epochs: count.default(1).describe("Passes over a step's actions."),
  temperature: z.number().positive().default(1).describe("Sampling temperature."),
  topK: z.int().min(0).default(0).describe("Sample from the K most probable tokens; 0: all."),
  topP: z.number().gt(0).max(1).default(1).describe("Nucleus sampling."),
  ...optimizer,
});

const rollout = z.strictObject({
  concurrency: count
    .optional()
    .describe("Maximum episodes played at the same time, in training and evaluations. Default: all."),
  timeoutSeconds: z
    .number()
    .gt(0)
    .max(86_400)
    .optional()
    .describe(
      "Maximum duration of the environment's `start` and `step`; longer counts as a failing service. Default: none.",
    ),
});

const evaluation = z.strictObject({
  tasks: tasks
    .default(500)
    .describe("Distinct tasks, the same for every team; all of them if there are fewer."),
  samples: count.max(4096).default(1).describe("Episodes of each task; several need a temperature above 0."),
  passAt: z
    .array(count)
    .default([])
    .describe("The k of pass@k, at most `samples`: the share of tasks that one of k episodes solves."),
  split: z.string().default("heldOut").describe("validation: for tuning. heldOut: for final results."),
  every: z.int().min(0).default(0).describe("Steps between evaluations; 0: only before and after training."),
  tasksDuring: tasks.optional().describe("Tasks of intermediate evaluations. Default: tasks."),
  temperature: z.number().min(0).default(0).describe("0: greedy."),
  topP: z.number().gt(0).max(1).default(1).describe("As in train."),
  compare: z
    .record(name, teamSchema)
    .default({})
    .describe("Other teams to evaluate before training, written like team."),
});

const failures = z.strictObject({
  retries: z.int().min(0).default(4).describe("Retries of a call that failed because of a service."),
  firstDelay: z.number().min(0).default(0.5).describe("Seconds before the first retry, doubled each time."),
  longestDelay: z.number().min(0).default(30).describe("Maximum delay in seconds."),
  limit: fraction
    .default(0.1)
    .describe(
      "Share of a step's or evaluation's episodes that may fail; above it the run makes a checkpoint and stops.",
    ),
});

const checkpoint = z.strictObject({
  every: count.default(20).describe("Steps between checkpoints; each stage also ends with one."),
  keep: count.default(2).describe("Number of newest checkpoints kept."),
  best: z
    .enum(["none", "success"])
    .default("none")
    .describe(
      "success: also keep the one with the highest success in an evaluation, the earliest of equal ones. Choose on `evaluation.split: validation`.",
    ),
});

/** A number of episodes. */
const episodes = z.union([z.literal("all"), z.int().min(0)]);

const record = z.strictObject({
  training: z
    .strictObject({
      every: count.default(1).describe("Steps between steps whose episodes are kept."),
      perStep: episodes.default(4).describe("Episodes kept of such a step."),
    })
    .prefault({})
    .describe("Episodes of training, with their credit."),
  evaluation: episodes.default("all").describe("Episodes kept of each evaluation."),
});

const expected = z.strictObject({
  minutes: z.number().min(0).optional().describe("Measured duration on two cores."),
  success: fraction.optional().describe("Measured held-out success after training."),
});

export const recipeSchema = z.strictObject({
  name: name.describe("Also the default name of the run."),
  description: z.string().default("").describe("One sentence for `troupe recipes`."),
  expected: expected.optional().describe("Measured duration and result, for lists."),
  seed: z.int().min(0).default(1).describe("Seed of everything random."),
  environment,
  team: teamSchema.describe("Roles, order of acting, number of turns."),
  policies: z.record(name, policy).describe("The policies, by name."),
  algorithm: z
    .looseObject({ name: z.string().optional().describe("One of the algorithms below."), ...module })
    .describe("The algorithm's name or module, and its options."),
  judge: z
    .looseObject({ name: z.string().optional().describe("One of the judges below.") })
    .optional()
    .describe("The judge's name and its options: it rewards actions in place of the environment."),
  warmStart: warmStart.optional().describe("Supervised training on demonstrations before reinforcement."),
  train: train.describe("Reinforcement."),
  rollout: rollout.optional().describe("Limits on playing episodes; they may change when a run is resumed."),
  evaluation: evaluation.prefault({}).describe("Evaluation."),
  failures: failures.prefault({}).describe("Handling of failing services."),
  checkpoint: checkpoint.prefault({}).describe("Checkpoints."),
  watch: watchSchema
    .optional()
    .describe("Signs that training collapses; `off`: none. May change when a run is resumed."),
  record: record.prefault({}).describe("Episodes kept in the run's folder. No effect on training."),
  logging: loggingSettings
    .optional()
    .describe("Where else the run's records go. No effect on training; may change when a run is resumed."),
  engine: engine.prefault({}).describe("The engine."),
});

export type Recipe = z.output<typeof recipeSchema>;
export type RecipeInput = z.input<typeof recipeSchema>;
export type RecipeTeam = z.output<typeof teamSchema>;
