/** The options of `code` in a recipe. */
import { z } from "zod";
import { datasetSchema } from "../../data/dataset.ts";
import { printedComparisons } from "../../data/problem.ts";
import { clientOptions } from "../../clients/options.ts";

const feedbackModes = [
  "expert_edits",
  "level_passed",
  "level_feedback",
  "passed",
  "partner",
  "plain",
] as const;
export type FeedbackMode = (typeof feedbackModes)[number];

/** Other names accepted by MAGRPO's code. */
const aliases = {
  expert: "expert_edits",
  edits: "expert_edits",
  feedback: "level_feedback",
  signals: "level_passed",
} as const satisfies Readonly<Record<string, FeedbackMode>>;

const modeNames = [...feedbackModes, ...(Object.keys(aliases) as (keyof typeof aliases)[])] as const;

export const codeOptions = z.strictObject({
  dataset: datasetSchema
    .default("humaneval")
    .describe("Data set: a registered name, a name with details, or local files (docs/data-sets.md)."),
  splits: z
    .record(z.string().min(1), z.string().min(1))
    .default({ train: "test[33:133]", heldOut: "test[:32]" })
    .refine((splits) => "train" in splits && "heldOut" in splits, "the splits `train` and `heldOut`")
    .describe("Rows of each split: `test[:20]`, `train[:75%]`. Default: HumanEval's in MAGRPO's code."),
  feedback: z
    .enum(modeNames)
    .default("level_feedback")
    .transform((mode): FeedbackMode =>
      mode in aliases ? aliases[mode as keyof typeof aliases] : (mode as FeedbackMode),
    )
    .describe("What later turns are shown of the last program."),
  sandboxSlice: z
    .int()
    .nullable()
    .default(1)
    .describe("Tests that feedback may show: the first n, the last −n; 0 or null: all. All tests pay."),
  originalPrompt: z.boolean().default(true).describe("Later turns show the problem again."),
  previousResponse: z.boolean().default(true).describe("Later turns show the seat's last code."),
  comparison: z
    .enum(printedComparisons)
    .optional()
    .describe(
      "Printed text: close, words and numbers as in APPS (1e-5 relative, 1e-8 absolute); exact, also the lines, as in LiveCodeBench; contests, without case and to 1e-5, as in CodeContests. Default: the data set's own.",
    ),
  testSeconds: z
    .number()
    .positive()
    .max(600)
    .default(10)
    .describe("Processor time for each call of the program by a test, where the problem says nothing."),
  expert: clientOptions.optional().describe("With `feedback: expert_edits`: the model that edits."),
});

/** As `codeOptions`, checked together. */
export const checkedOptions = codeOptions.refine(
  ({ feedback, expert }) => feedback !== "expert_edits" || expert !== undefined,
  {
    path: ["expert"],
    error: "a model, such as `{ provider: deepseek, model: deepseek-coder }`, for `feedback: expert_edits`",
  },
);

export type CodeOptions = z.output<typeof codeOptions>;
