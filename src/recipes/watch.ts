/** `watch` of a recipe: limits on what a training measures, each with an action, and the limits of pretrained models. */
import { z } from "zod";

export const watchActions = ["warn", "stop", "return"] as const;
export type WatchAction = (typeof watchActions)[number];

const action = z
  .enum(watchActions)
  .default("warn")
  .describe(
    "warn: say so. stop: make a checkpoint and stop. return: continue from the best checkpoint with half the learning rate.",
  );

const bound = z.number().min(0);
const share = z.number().min(0).max(1);

/** @param what the figure, for people; the text of the manual */
function limit<Shape extends z.ZodRawShape>(what: string, shape: Shape) {
  const names = Object.keys(shape);
  return z
    .strictObject({ ...shape, action })
    .refine((given) => names.some((name) => (given as Record<string, unknown>)[name] !== undefined), {
      message: `needs a limit: ${names.join(" or ")}`,
      // A limit under a wrong key is one mistake.
      when: ({ issues }) => issues.length === 0,
    })
    .optional()
    .describe(what);
}

const below = { below: bound.optional().describe("Least value.") };
const above = { above: bound.optional().describe("Largest value.") };
const both = { ...below, ...above };
const drop = { drop: share.optional().describe("Largest loss, as a share of the best.") };

const limits = z.strictObject({
  entropy: limit("Of each trained role, in nats per token.", both),
  length: limit("Of each trained role, in tokens per action.", both),
  truncated: limit("Share of each trained role's actions that reach the token limit.", above),
  flatGroups: limit("Share of each trained role's groups with equal returns.", above),
  advantageShare: limit("Each trained role's share of the advantages.", below),
  influence: limit("What each role's words change in the next role's replies, in nats per token.", below),
  kl: limit("Of each policy, in nats per token.", above),
  gradientNorm: limit("Of each policy, before clipping.", above),
  success: limit("Success in training.", drop),
  evaluation: limit("Success in evaluations, beyond their intervals.", drop),
});

export type WatchLimits = z.output<typeof limits>;
export type Measure = keyof WatchLimits;

export const watchSettings = z.strictObject({
  window: z
    .int()
    .min(1)
    .default(5)
    .describe("Steps over which a figure is averaged before it is compared with its limits."),
  returns: z
    .int()
    .min(1)
    .default(2)
    .describe("Most returns to the best checkpoint; then the run stops instead."),
  influence: z
    .strictObject({
      every: z.int().min(0).default(0).describe("Steps between measurements; 0: never."),
      replies: z.int().min(1).default(32).describe("Most replies for each role, two forward passes each."),
    })
    .prefault({})
    .describe("Measures how much a role's words change what the next role does."),
  limits: limits
    .optional()
    .describe("Default: for policies with model.path those of docs/watch.md, otherwise none."),
});

export const watchSchema = z.union([z.literal("off"), watchSettings]);
export type Watch = z.output<typeof watchSettings>;

/** The sampling settings of `train`. */
interface Sampling {
  readonly temperature: number;
  readonly topK: number;
  readonly topP: number;
}

/**
 * Whether actions are samples of the policies' whole distributions, so that their log-probabilities give the entropy.
 * @param environment one whose programs drive themselves may sample otherwise
 */
export function hasWholeSamples(
  { temperature, topK, topP }: Sampling,
  { drive }: { readonly drive?: unknown },
): boolean {
  return temperature === 1 && topK === 0 && topP === 1 && drive === undefined;
}

/**
 * For models that can already do something, which a wrong learning rate destroys within an hour: healthy runs stay far
 * from these (docs/results/watch.md).
 */
export const pretrainedLimits: WatchLimits = {
  entropy: { above: 4, action: "warn" },
  flatGroups: { above: 0.98, action: "warn" },
  kl: { above: 0.5, action: "stop" },
  success: { drop: 0.5, action: "stop" },
  evaluation: { drop: 0.5, action: "stop" },
};
