/**
 * The shape of a recipe. Every key is checked, every default is the vetted setting, an unknown key is an error.
 * Field descriptions are the manual (docs/recipes.md and `troupe recipes --schema` print them).
 */
import { z } from "zod";

const count = z.int().min(1);
const fraction = z.number().min(0).max(1);
const name = z
  .string()
  .regex(/^[A-Za-z][A-Za-z0-9-]*$/, "a name: letters, digits and dashes, beginning with a letter");

/** What a module is given by instead of a name. */
const module = {
  module: z
    .string()
    .min(1)
    .optional()
    .describe(
      "In place of name: a file of your own, relative to the file that says it, or an installed package.",
    ),
  export: z
    .string()
    .min(1)
    .optional()
    .describe("What the module exports it as; default: its default export."),
  moduleHash: z
    .string()
    .optional()
    .describe("Written into a run's recipe: the module's contents as the run began."),
};

const environment = z
  .looseObject({ name: z.string().optional().describe("One of the environments below."), ...module })
  .describe("The environment's name, or its module, and its own options (checked by the environment).");

const role = z.strictObject({
  seat: z.string().optional().describe("Seat of the environment; default: the role's own name."),
  policy: name.describe("Policy it plays with; roles may share one."),
  prompt: z.string().optional().describe("System message; default: the seat's."),
  frozen: z.boolean().default(false).describe("Acts, but trains nothing."),
  memory: z.enum(["turn", "conversation"]).default("turn").describe("turn: a fresh prompt each turn."),
  maxTokens: count.optional().describe("Longest action; default: the seat's."),
  stop: z.array(z.string().min(1)).default([]).describe("Strings that end an action."),
});

export const teamSchema = z
  .strictObject({
    roles: z.record(name, role).describe("The members, by name."),
    phases: z
      .array(z.array(name).min(1))
      .optional()
      .describe(
        "Order in a turn; the roles of one phase act at once. Default: one role after the other, in the order of roles. Not given where the environment decides who acts.",
      ),
    turns: count.describe("Turns before an episode is over."),
  })
  .transform(({ roles, phases = Object.keys(roles).map((each) => [each]), turns }) => ({
    roles,
    phases,
    turns,
  }));

const adapter = z.strictObject({
  rank: count.default(8).describe("Rank of the two factors."),
  alpha: z.number().positive().default(16).describe("The product is scaled by alpha / rank."),
  targetModules: z
    .array(z.enum(["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]))
    .min(1)
    .default(["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"])
    .describe("Projections that get an adapter."),
});

const policy = z.strictObject({
  model: z
    .union([z.strictObject({ preset: z.string() }), z.strictObject({ path: z.string() })])
    .describe(
      "preset: a fresh untrained model made for the environment; path: a Hugging Face directory, such as a policy's in a checkpoint, or the directory of an adapter (PEFT) to go on with, seen from the working directory.",
    ),
  adapter: adapter
    .optional()
    .describe(
      "Train an adapter instead of the whole model. Default, where path is an adapter's directory: its settings.",
    ),
  learningRate: z.number().positive().optional().describe("Default: train.learningRate."),
});

const schedule = z.enum(["constant", "linear", "cosine"]);
const optimizer = {
  learningRate: z.number().positive().describe("AdamW's, at its highest."),
  schedule: schedule
    .default("constant")
    .describe("Shape of the learning rate after warm-up; linear and cosine end at finalLearningRate."),
  finalLearningRate: fraction.default(0.1).describe("Share of learningRate left at the last step."),
  warmupSteps: z.int().min(0).default(0).describe("Steps in which the learning rate rises from 0."),
  weightDecay: z.number().min(0).default(0).describe("AdamW's, decoupled."),
  beta1: z.number().min(0).lt(1).default(0.9).describe("AdamW's decay of the mean gradient."),
  beta2: z.number().min(0).lt(1).default(0.95).describe("AdamW's decay of the mean squared gradient."),
  epsilon: z.number().positive().default(1e-8).describe("AdamW's, added to the root."),
  clipNorm: z.number().min(0).default(1).describe("Largest gradient norm; 0: no clipping."),
};

const warmStart = z.strictObject({
  steps: count.describe("Supervised steps."),
  demonstrationsPerStep: count
    .default(64)
    .describe("Tasks demonstrated per step; each gives one example per seat."),
  teach: z
    .enum(["policies", "bases"])
    .default("policies")
    .describe(
      "policies: each, on its own roles' examples. bases: the whole models below them, each on the examples of all its roles; the policies then begin from there.",
    ),
  ...optimizer,
});

const train = z.strictObject({
  steps: z.int().min(0).describe("Steps of reinforcement; 0: the warm start alone."),
  tasksPerStep: count.describe("Tasks played in a step, each with its own groups."),
  tokensPerStep: count
    .optional()
    .describe(
      "Tokens that all roles together sample in a step, on average over the steps so far: after tasksPerStep tasks, further " +
        "ones are played until there are so many. Compares algorithms at equal samples; in place of the refills of dynamic sampling.",
    ),
  minibatches: count.default(1).describe("Optimizer steps made from one step's actions."),
  epochs: count.default(1).describe("Times a step's actions are trained on."),
  temperature: z.number().positive().default(1).describe("Of sampling; 1 is the policy itself."),
  topK: z.int().min(0).default(0).describe("Sample among the K likeliest tokens; 0: all."),
  topP: z
    .number()
    .gt(0)
    .max(1)
    .default(1)
    .describe("Sample among the likeliest tokens that hold this share."),
  ...optimizer,
});

const evaluation = z.strictObject({
  tasks: count
    .default(500)
    .describe("Distinct tasks, the same for every team; where there are fewer, all of them."),
  split: z
    .string()
    .default("heldOut")
    .describe("validation: for choices such as a learning rate. heldOut: for final numbers."),
  every: z.int().min(0).default(0).describe("Steps between evaluations; 0: only before and after."),
  tasksDuring: count.optional().describe("Tasks of the evaluations in between; default: tasks."),
  temperature: z.number().min(0).default(0).describe("0: the likeliest token each time."),
  topP: z.number().gt(0).max(1).default(1).describe("As in train."),
  compare: z
    .record(name, teamSchema)
    .default({})
    .describe("Other teams, evaluated before training for the table."),
});

const failures = z.strictObject({
  retries: z
    .int()
    .min(0)
    .default(4)
    .describe("Further tries of a call of the environment that a service failed."),
  firstDelay: z.number().min(0).default(0.5).describe("Seconds before the first of them; doubled each time."),
  longestDelay: z.number().min(0).default(30).describe("Seconds that a delay is at most."),
  limit: fraction
    .default(0.1)
    .describe(
      "Share of a step's or an evaluation's episodes that may fail for good; above it the run stops, to be resumed.",
    ),
});

const checkpoint = z.strictObject({
  every: count.default(20).describe("Steps between checkpoints; one is also made at the end of each stage."),
  keep: count.default(2).describe("Newest ones that are kept."),
});

const expected = z.strictObject({
  minutes: z.number().min(0).optional().describe("From the command to the table, on two cores."),
  success: fraction.optional().describe("Held-out success after training."),
});

export const recipeSchema = z.strictObject({
  name: name.describe("Also the run's name, unless the command line gives one."),
  description: z.string().default("").describe("One sentence for `troupe recipes`."),
  expected: expected
    .optional()
    .describe(
      "What it takes and gives; those that come with Troupe say what was measured, or follows from it.",
    ),
  seed: z.int().min(0).default(1).describe("Of everything random. The same seed gives the same run."),
  environment,
  team: teamSchema.describe("Who plays, in which order, for how long."),
  policies: z.record(name, policy).describe("What is trained, by name."),
  algorithm: z
    .looseObject({ name: z.string().optional().describe("One of the algorithms below."), ...module })
    .describe("A row of the table of algorithms, or a module with one, and its options."),
  warmStart: warmStart
    .optional()
    .describe("Supervised training on a solver's demonstrations, before reinforcement."),
  train: train.describe("Reinforcement."),
  evaluation: evaluation.prefault({}).describe("On tasks that are never trained on."),
  failures: failures.prefault({}).describe("What happens where services fail."),
  checkpoint: checkpoint.prefault({}).describe("What an interrupted run goes on from."),
  engine: z
    .strictObject({
      type: z.enum(["local"]).default("local").describe("local: in this process, on the processor."),
      threads: z.int().min(0).max(256).default(0).describe("0: as many as the processor has."),
      precision: z
        .enum(["auto", "float32", "bfloat16"])
        .default("auto")
        .describe(
          "Of matrix products; auto: bfloat16 where the processor has units for it. Weights stay float32.",
        ),
    })
    .prefault({})
    .describe("What computes."),
});

export type Recipe = z.output<typeof recipeSchema>;
export type RecipeInput = z.input<typeof recipeSchema>;
export type RecipeTeam = z.output<typeof teamSchema>;
