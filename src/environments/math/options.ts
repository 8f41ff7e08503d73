/** The options of `math` in a recipe. */
import { z } from "zod";
import { datasetSchema } from "../../data/dataset.ts";

const slices = z.string().min(1);

/** Rows of the option `dataset`, or of another data set. */
const splitSchema = z.union([slices, z.strictObject({ dataset: datasetSchema, slices })]);

export const mathOptions = z.strictObject({
  dataset: datasetSchema
    .default("gsm8k")
    .describe("Data set: a registered name, a name with details, or local files (docs/data-sets.md)."),
  splits: z
    .record(z.string().min(1), splitSchema)
    .default({ train: "train", heldOut: "test[:200]" })
    .refine((splits) => "train" in splits && "heldOut" in splits, "expected `train` and `heldOut`")
    .describe("Rows of each split: `test[:20]`, or `{ dataset: aime-2025, slices: train }`."),
});

export type MathOptions = z.output<typeof mathOptions>;
