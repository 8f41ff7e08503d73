/**
 * The format of an experiment: a grid of rows × columns × seeds. A column is a recipe; a row is a training or an
 * evaluation of it. Everything that is spent (steps, tokens, tasks) is set in the columns.
 */
import { z } from "zod";

export const name = z
  .string()
  .regex(
    /^[A-Za-z][\w-]*$/,
    "a name: letters from A to Z, digits, dashes and underscores, starting with a letter",
  );

const changes = z
  .looseObject({})
  .describe("Merged into the recipe: `train: { steps: 20 }`; null removes a key.");

const training = z.strictObject({
  from: name
    .optional()
    .describe(
      "Start from the policies of this training of the same column and seed, without a warm start, with a new optimizer.",
    ),
  team: name
    .optional()
    .describe("A team under the recipe's evaluation.compare that is trained instead of `team`."),
  policies: z
    .enum(["shared", "per-role"])
    .optional()
    .describe("One policy for all roles, or one each. Default: as in the recipe."),
  changes: changes.optional(),
  changesIn: z.record(name, changes).optional().describe("Further changes, by column; they win."),
});

const evaluation = z.strictObject({
  run: name.describe("Row or shared training whose recipe is evaluated."),
  team: name.default("team").describe("`team`, or a name under that recipe's evaluation.compare."),
  policies: z
    .record(name, z.string().regex(/^[A-Za-z][\w-]*(\/[A-Za-z][\w-]*)?$/, "ROW or ROW/ROLE"))
    .default({})
    .describe("Whose policy a role plays with: `scout: other-row`, or `scout: other-row/planner`."),
});

const row = z.strictObject({
  title: z.string().optional().describe("Default: its name."),
  train: training.optional().describe("Train the recipe of the column."),
  evaluate: evaluation.optional().describe("Evaluate policies of other rows without training."),
  point: z
    .strictObject({
      of: z.string().describe("Name of the axis: rows with the same one form a line."),
      at: z.union([z.number(), z.string()]).describe("Place on the axis."),
    })
    .optional()
    .describe("Draws the row as a point of a line, such as success against group size."),
});

const column = z.strictObject({
  title: z.string().optional().describe("Default: its name."),
  recipe: z.string().describe("A recipe's file, relative to this one, or the name of an included one."),
  changes: changes.optional(),
});

const published = z.strictObject({
  source: z.string().describe("Source of the numbers."),
  values: z.record(name, z.record(name, z.number())).default({}).describe("Per cent, by row and column."),
  measures: z
    .record(name, z.record(name, z.record(name, z.number())))
    .default({})
    .describe("Of `measures`, as the report shows them, by column, row and measure."),
});

const requirement = z
  .strictObject({
    path: z
      .string()
      .optional()
      .describe(
        "A file or folder, relative to this file; of included experiments, to the working directory.",
      ),
    dataset: z.string().optional().describe("A registered data set."),
    fetch: z.string().describe("How to get it and where to put it."),
  })
  .refine(({ path, dataset }) => (path === undefined) !== (dataset === undefined), {
    error: "either `path` or `dataset`",
  });

const measure = z
  .strictObject({
    title: z.string().optional().describe("Default: its name."),
    terms: z
      .record(z.string(), z.number().min(0))
      .optional()
      .describe("Terms of the team's reward and the largest value of each: the share of their sum."),
    passAt: z.int().min(1).optional().describe("The k of pass@k, which the columns' recipes request."),
    value: z.enum(["tokens", "seconds"]).optional().describe("Of an episode."),
    judge: z
      .enum(["score", "correlation", "blame"])
      .optional()
      .describe(
        "Of a judge of evaluations: its mean score, rank correlation with outcomes, share of correct blame.",
      ),
  })
  .refine(
    ({ terms, passAt, value, judge }) =>
      [terms, passAt, value, judge].filter((each) => each !== undefined).length === 1,
    {
      error: "one of `terms`, `passAt`, `value` and `judge`",
    },
  );

export const definitionSchema = z
  .strictObject({
    name: name.describe("Of the experiment and of its report."),
    title: z.string().optional().describe("Of the report."),
    description: z.string().default("").describe("One or two sentences."),
    minutes: z
      .number()
      .min(0)
      .optional()
      .describe("Wall-clock minutes of the whole experiment on two cores."),
    seeds: z.array(z.int().min(0)).min(1).describe("Each cell is run with each seed."),
    columns: z.record(name, column).describe("Recipes, with their budgets."),
    shared: z
      .record(name, training)
      .default({})
      .describe("Trainings that rows start from; run once per column and seed, not rows themselves."),
    rows: z.record(name, row).describe("The compared trainings and evaluations."),
    requires: z
      .array(requirement)
      .default([])
      .describe(
        "Models and data sets that must be there before anything starts: a `path` or `dataset`, and how to `fetch` it.",
      ),
    measures: z.record(name, measure).default({}).describe("Further columns of the report."),
    baseline: name.optional().describe("Row that the others are compared with."),
    published: published.optional().describe("Published numbers for comparison."),
    notes: z.string().default("").describe("Paragraphs for the report."),
  })
  .meta({ title: "an experiment" });

export type Definition = z.output<typeof definitionSchema>;
export type Requirement = z.output<typeof requirement>;
export type TrainingInput = z.output<typeof training>;
export type EvaluationInput = z.output<typeof evaluation>;
