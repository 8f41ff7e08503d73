/** What `build` of an algorithm in a module returns, as strictly as a recipe: every key, and values that are words. */
import { z } from "zod";
import { faultOf, functionSchema, strict } from "../../arguments.ts";
import type { Algorithm } from "../../credit/algorithm.ts";
import { lossFault } from "../../engines/arguments.ts";

const count = z.int().min(1);
const positive = z.number().gt(0);
const atLeast0 = z.number().min(0);

const loss = z.unknown().superRefine((given, context) => {
  const fault = lossFault(given);
  if (fault !== null) context.addIssue({ code: "custom", message: fault });
});

const shape = {
  name: z.string(),
  source: z.string(),
  sampling: strict({
    branch: strict({ root: count, inner: count }),
    keep: z.enum(["all", "best", "first", "random"]),
    joint: z.enum(["aligned", "cross"]).optional(),
    stopAbove: z.number().optional(),
  }),
  score: functionSchema,
  shaping: functionSchema.nullable(),
  overlong: strict({ length: count, buffer: count, penalty: positive }).nullable(),
  returns: functionSchema,
  grouping: strict({
    key: functionSchema,
    unit: functionSchema,
    together: functionSchema.optional(),
    spans: z.literal("batch").optional(),
  }),
  baseline: functionSchema,
  scale: functionSchema,
  tokenCredit: strict({ spread: functionSchema, chargesKl: z.boolean() }),
  whitening: functionSchema.nullable(),
  turnWeights: z.array(z.number()).nullable(),
  earlyEndWeight: z.number(),
  objective: strict({ loss, aggregation: z.enum(["token-mean", "sequence-mean", "sequence-sum"]) }),
  kl: strict({
    where: z.enum(["reward", "loss"]),
    to: z.string().min(1).optional(),
    estimator: z.enum(["k1", "k2", "k3"]),
    coefficient: atLeast0,
    target: positive.nullable(),
    horizon: count,
  }).nullable(),
  critic: strict({
    scope: z.enum(["role", "central"]),
    at: z.enum(["tokens", "prompt"]),
    clip: positive.nullable(),
    learningRate: positive.nullable(),
    epochs: count,
  }).nullable(),
  selection: strict({
    dropZeroVariance: z.boolean(),
    refills: z.int().min(0),
    truncated: z.enum(["train", "mask"]),
  }),
} satisfies Record<keyof Algorithm, z.ZodType>;

const columns = strict(shape);

/** The first mistake; null: none. */
export function columnFault(algorithm: Algorithm): string | null {
  return faultOf(columns, algorithm) ?? klFault(algorithm);
}

/** The term says what is measured, the loss what is added to it: one without the other changes nothing. */
function klFault({ kl, objective: { loss: chosen } }: Algorithm): string | null {
  const inLoss = "kl" in chosen ? chosen.kl : undefined;
  const wanted = kl?.where === "loss" ? kl.estimator : undefined;
  if (inLoss === wanted) return null;
  const [found, expected] = [inLoss ?? "none", wanted ?? "none"];
  return `objective.loss.kl: is ${found}, but the column \`kl\` puts ${expected} into the loss; use \`columns.withKl(objective, kl)\``;
}
