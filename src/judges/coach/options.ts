/** The options of the coach in a recipe. */
import { z } from "zod";
import { clientShape, hasAddress, lacksAddress } from "../../clients/options.ts";
import { judgeUse } from "../judge.ts";

const limit = z.number().positive();

const budgetSchema = z.strictObject({
  requests: z.int().min(1).optional().describe("Requests, with those that failed."),
  tokens: z.int().min(1).optional().describe("Tokens of questions and answers."),
  dollars: limit.optional().describe("Cost by `price`."),
});

const priceSchema = z.strictObject({
  input: z.number().min(0).describe("Dollars for a million tokens of questions."),
  output: z.number().min(0).describe("Dollars for a million tokens of answers."),
});

const breakerSchema = z.strictObject({
  failures: z.int().min(1).default(6).describe("Failures in a row after which the run pauses."),
  pauseSeconds: limit.max(3600).default(15).describe("The first pause; each further one is twice as long."),
  pauses: z
    .int()
    .min(0)
    .max(100)
    .default(5)
    .describe("Pauses in a row after which the run makes a checkpoint and stops."),
});

const truths = z.enum(["visible", "hidden"]);

export const coachOptions = z
  .strictObject({
    ...clientShape,
    temperature: clientShape.temperature.default(0),
    maxTokens: clientShape.maxTokens.default(4096),
    schema: z
      .boolean()
      .optional()
      .describe(
        "Send the service the JSON schema of a verdict. Default: true, but false for `deepseek`, `dashscope` and `compatible`.",
      ),
    relative: z
      .boolean()
      .default(false)
      .describe("Rank the actions sampled in one state in one request, instead of scoring each."),
    truth: z
      .union([truths, z.record(z.string(), truths)])
      .default("hidden")
      .describe("Whether the coach sees the reference answer, or for which roles it does; others: hidden."),
    thinking: z.boolean().default(false).describe("Also show the coach what the agent thought."),
    rubric: z
      .string()
      .min(1)
      .optional()
      .describe("What to look for and what scores mean, instead of the included rubric."),
    instructions: z.string().min(1).optional().describe("Added to the rubric: what matters in this task."),
    longestPart: z
      .int()
      .min(200)
      .max(10_000_000)
      .default(12_000)
      .describe("Characters of one text that the coach sees; the middle of longer ones is left out."),
    concurrency: z.int().min(1).max(1024).default(8).describe("Requests at the same time."),
    breaker: breakerSchema.prefault({}).describe("When to pause because the service fails."),
    budget: budgetSchema.prefault({}).describe("When to stop. Default: never."),
    price: priceSchema.optional().describe("Default: a table of common models (docs/judges.md#the-coach)."),
    recorded: z
      .string()
      .min(1)
      .optional()
      .describe("A run folder whose verdicts are reused, relative to this file."),
    attempt: z.int().min(1).default(1).describe("Change it to discard recorded verdicts."),
    ...judgeUse,
  })
  .refine(hasAddress, lacksAddress);

export type CoachOptions = z.output<typeof coachOptions>;

/** Whether the coach may see the reference answer when it judges the role. */
export function seesTruth({ truth }: Pick<CoachOptions, "truth">, role: string): boolean {
  const own = typeof truth === "string" ? truth : Object.hasOwn(truth, role) ? truth[role] : "hidden";
  return own === "visible";
}

/** The response format to request: a JSON schema, JSON, or plain text that contains JSON. */
export function formatFor({
  provider,
  schema = !["deepseek", "dashscope", "compatible"].includes(provider),
}: Pick<CoachOptions, "provider" | "schema">): "schema" | "json" | "text" {
  if (schema) return "schema";
  return provider === "compatible" ? "text" : "json";
}
