/**
 * The shape of a recipe. Every key is checked, every default is the vetted setting, an unknown key is an error.
 * Field descriptions are the manual (`troupe train --help-recipe` and the JSON schema print them).
 */
import { z } from "zod";

const count = z.int().min(1);
const fraction = z.number().min(0).max(1);
const name = z
  .string()
  .regex(/^[A-Za-z][A-Za-z0-9-]*$/, "a name: letters, digits and dashes, beginning with a letter");

const environment = z
  .looseObject({ name: z.string() })
  .describe("The environment's name and its own options (checked by the environment).");

const role = z.strictObject({
  seat: z.string().optional().describe("Seat of the environment; default: the role's own name."),
  policy: name.describe("Policy it plays with; roles may share one."),
  prompt: z.string().optional().describe("System message; default: the seat's."),
  frozen: z.boolean().default(false).describe("Acts, but trains nothing."),
  memory: z.enum(["turn", "conversation"]).default("turn").describe("turn: a fresh prompt each turn."),
  maxTokens: count.optional().describe("Longest action; default: the seat's."),
  stop: z.array(z.string().min(1)).default([]).describe("Strings that end an action."),
});

export const teamSchema = z.strictObject({
  roles: z.record(name, role),
  phases: z
    .array(z.array(name).min(1))
    .min(1)
    .describe("Order in a turn; the roles of one phase act at once."),
  turns: count.describe("Turns before an episode is over."),
});

const adapter = z.strictObject({
  rank: count.default(8),
  alpha: z.number().positive().default(16),
  targetModules: z
    .array(z.enum(["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]))
    .min(1)
    .default(["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]),
});

const policy = z.strictObject({
  model: z
    .union([z.strictObject({ preset: z.string() }), z.strictObject({ path: z.string() })])
    .describe("preset: a fresh untrained model made for the environment; path: a Hugging Face directory."),
  adapter: adapter.optional().describe("Train an adapter instead of the whole model."),
  learningRate: z.number().positive().optional().describe("Default: train.learningRate."),
});

const schedule = z.enum(["constant", "linear", "cosine"]);
const optimizer = {
  learningRate: z.number().positive(),
  schedule: schedule
    .default("constant")
    .describe("Shape of the learning rate after warm-up; linear and cosine end at finalLearningRate."),
  finalLearningRate: fraction.default(0.1).describe("Share of learningRate left at the last step."),
  warmupSteps: z.int().min(0).default(0),
  weightDecay: z.number().min(0).default(0),
  beta1: z.number().min(0).lt(1).default(0.9),
  beta2: z.number().min(0).lt(1).default(0.95),
  epsilon: z.number().positive().default(1e-8),
  clipNorm: z.number().min(0).default(1).describe("Largest gradient norm; 0: no clipping."),
};

const warmStart = z.strictObject({
  steps: count,
  demonstrationsPerStep: count
    .default(64)
    .describe("Tasks demonstrated per step; each gives one example per seat."),
  ...optimizer,
});

const train = z.strictObject({
  steps: z.int().min(0),
  tasksPerStep: count,
  minibatches: count.default(1).describe("Optimizer steps made from one step's actions."),
  epochs: count.default(1),
  temperature: z.number().positive().default(1),
  topK: z.int().min(0).default(0),
  topP: z.number().gt(0).max(1).default(1),
  ...optimizer,
});

const evaluation = z.strictObject({
  tasks: count.default(500),
  every: z.int().min(0).default(0).describe("Steps between evaluations; 0: only before and after."),
  tasksDuring: count.optional().describe("Tasks of the evaluations in between; default: tasks."),
  temperature: z.number().min(0).default(0),
  topP: z.number().gt(0).max(1).default(1),
  compare: z
    .record(name, teamSchema)
    .default({})
    .describe("Other teams, evaluated before training for the table."),
});

export const recipeSchema = z.strictObject({
  name,
  description: z.string().default(""),
  seed: z.int().min(0).default(1),
  environment,
  team: teamSchema,
  policies: z.record(name, policy),
  algorithm: z
    .looseObject({ name: z.string() })
    .describe("A row of the table of algorithms, and its options."),
  warmStart: warmStart.optional(),
  train,
  evaluation: evaluation.prefault({}),
  checkpoint: z.strictObject({ every: count.default(20), keep: count.default(2) }).prefault({}),
  engine: z
    .strictObject({
      type: z.enum(["local"]).default("local"),
      threads: z.int().min(0).default(0).describe("0: as many as the processor has."),
      precision: z.enum(["auto", "float32", "bfloat16"]).default("auto"),
    })
    .prefault({}),
});

export type Recipe = z.output<typeof recipeSchema>;
export type RecipeInput = z.input<typeof recipeSchema>;
export type RecipeTeam = z.output<typeof teamSchema>;
