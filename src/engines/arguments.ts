/**
 * Arguments of verbs that every engine rejects, whatever it computes with: wrong types and missing fields, by name.
 * Ranges are the engine's own checks. A verb checks in its turn (verb-order.ts), so that the verbs submitted after an
 * invalid change fail with it; what a verb needs to enter the order tolerates anything.
 */
import { types } from "node:util";
import { z } from "zod";
import { checkArgument, faultOf, pathSchema, signalSchema, strict } from "../arguments.ts";
import type { Cancellable, PolicyName, PolicyOptions, SampleRequest } from "./engine.ts";

const name = z.string();

const saved = z.object({
  kind: z.enum(["snapshot", "checkpoint"]),
  location: pathSchema,
  version: z.int().min(0),
  directory: z.string().nullable(),
});
const stored = z.object({ saved, folder: z.string() }, "expected saved weights and their folder");

const adapter = z.object({
  rank: z.number(),
  alpha: z.number(),
  targetModules: z.array(z.string()),
  seed: z.number(),
});

const policyOptions = z.object({
  name,
  model: z.union([pathSchema, stored], "expected the path of a directory, or saved weights"),
  from: stored.optional(),
  adapter: adapter.optional(),
  valueHead: z.boolean().optional(),
});

const sampleRequest = z.object({
  policy: name,
  prompt: z.custom(types.isInt32Array, "expected an Int32Array of token ids"),
  count: z.number(),
  maxTokens: z.number(),
  temperature: z.number(),
  topK: z.number().optional(),
  topP: z.number().optional(),
  /** `bad_token` if they are no ids. */
  stopTokens: z.array(z.number().or(z.nan())).optional(),
  stopStrings: z.array(z.string()).optional(),
  seed: z.number(),
});

const besides = {
  kl: z.enum(["k1", "k2", "k3"], "expected k1, k2 or k3").optional(),
  entropy: z.number().optional(),
};
const losses = z.discriminatedUnion(
  "type",
  [
    strict({ type: z.literal("cross_entropy") }),
    strict({ type: z.literal("importance_sampling"), ...besides }),
    strict({
      type: z.literal("ppo"),
      clipLow: z.number(),
      clipHigh: z.number(),
      dualClip: z.number().optional(),
      ratio: z.enum(["token", "sequence"], "expected token or sequence").optional(),
      ...besides,
    }),
    strict({ type: z.literal("cispo"), clipLow: z.number(), clipHigh: z.number(), ...besides }),
    strict({ type: z.literal("value"), clip: z.number().optional() }),
  ],
  "expected one of cross_entropy, importance_sampling, ppo, cispo, value",
);

const adamOptions = z.object({
  learningRate: z.number(),
  beta1: z.number(),
  beta2: z.number(),
  epsilon: z.number(),
  weightDecay: z.number(),
  clipNorm: z
    .number()
    .refine(
      (norm) => norm === 0 || Math.fround(norm) !== 0,
      "expected 0 for no clipping, or a number that is not 0 as float32",
    ),
});

const fileName = z
  .string("expected a file name")
  .refine((text) => !text.includes("\0"), "expected a file name");
const place = z.object({ folder: pathSchema, name: fileName });
const exporting = z.object({ format: z.string().optional() });
const cancellable = z
  .object({ signal: signalSchema.optional(), top: z.int().min(1).optional() }, "expected an object")
  .optional();

/** @throws TroupeError `bad_arguments`, as everything below */
export function checkPolicyOptions(options: unknown): void {
  checkArgument("options", policyOptions, options);
}

export function checkSampleRequest(request: unknown, options: unknown): void {
  checkArgument("request", sampleRequest, request);
  checkCancellable(options);
}

export function checkLoss(loss: unknown): void {
  checkArgument("loss", losses, loss);
}

/** What is wrong with a loss; null: nothing. */
export function lossFault(loss: unknown): string | null {
  return faultOf(losses, loss);
}

export function checkAdamOptions(adam: unknown): void {
  checkArgument("adam", adamOptions, adam);
}

export function checkPlace(given: unknown): void {
  checkArgument("place", place, given);
}

export function checkStored(given: unknown): void {
  checkArgument("stored", stored, given);
}

export function checkExport(directory: unknown, options: unknown): void {
  checkArgument("directory", pathSchema, directory);
  checkArgument("options", exporting, options);
}

export function checkCancellable(options: unknown): void {
  if (options !== undefined) checkArgument("options", cancellable, options);
}

/** For messages: a name may be anything. */
export function quoted(given: unknown): string {
  return typeof given === "string"
    ? JSON.stringify(given)
    : `of type ${given === null ? "null" : typeof given}`;
}

export function nameOf(options: Partial<PolicyOptions> | null | undefined): PolicyName {
  return options?.name as PolicyName;
}

export function policyOf(request: Partial<SampleRequest> | null | undefined): PolicyName {
  return request?.policy as PolicyName;
}

export function signalOf(options: Cancellable | null | undefined): AbortSignal | undefined {
  const signal: unknown = options?.signal;
  return signal instanceof AbortSignal ? signal : undefined;
}
