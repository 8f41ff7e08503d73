/** The options of `math` in a recipe. */
import { z } from "zod";
import { datasetSchema } from "../../data/dataset.ts";
import { programLimits } from "../programs/options.ts";
import { formSchema } from "./forms/forms.ts";

const slices = z.string().min(1);

/** Rows of the option `dataset`, or of another data set. */
const splitSchema = z.union([slices, z.strictObject({ dataset: datasetSchema, slices })]);

export const mathOptions = z.strictObject({
  form: formSchema
    .default({ name: "reasoner" })
    .describe("The team's form: its name, or its name with options (docs/math.md)."),
  dataset: datasetSchema
    .default("gsm8k")
    .describe("Data set: a registered name, a name with details, or local files (docs/data-sets.md)."),
  splits: z
    .record(z.string().min(1), splitSchema)
    .default({ train: "train", heldOut: "test[:200]" })
    .refine((splits) => "train" in splits && "heldOut" in splits, "expected `train` and `heldOut`")
    .describe("Rows of each split: `test[:20]`, or `{ dataset: aime-2025, slices: train }`."),
  showThinking: z
    .array(z.string().min(1))
    .default([])
    .describe("Seats whose thinking the seats that see them see, too."),
  characters: z
    .int()
    .min(100)
    .max(20_000)
    .default(8000)
    .describe("Most characters that a seat sees of what another one wrote; the last ones are shown."),
  programs: programLimits(
    { seconds: 20, megabytes: 512 },
    "Most characters that are shown of what an action's programs print; the last ones count.",
  ).prefault({}),
});

export type MathOptions = z.output<typeof mathOptions>;
