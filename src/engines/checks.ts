/**
 * What every engine rejects, whatever it computes with, by name: arguments of verbs with wrong types or missing fields, and
 * training data with wrong types, lengths or numbers. Ranges are the engine's own checks. A verb checks in its turn
 * (verb-order.ts), so that the verbs submitted after an invalid change fail with it; what a verb needs to enter the order
 * tolerates anything.
 */
import { types } from "node:util";
import { z } from "zod";
import { checkArgument, faultOf, pathSchema, signalSchema, strict } from "../arguments.ts";
import { TroupeError } from "../errors.ts";
import { adapterSchema } from "../models/adapter-options.ts";
import type {
  Cancellable,
  PolicyName,
  PolicyOptions,
  SampleRequest,
  Continuation,
  Datum,
  EntropyInLoss,
  KlInLoss,
  Loss,
} from "./engine.ts";

const policyName = z.string();

const saved = z.object({
  kind: z.enum(["snapshot", "checkpoint"]),
  location: pathSchema,
  version: z.int().min(0),
  directory: z.string().nullable(),
});
const stored = z.object({ saved, folder: z.string() }, "expected saved weights and their folder");

const policyOptions = z.object({
  name: policyName,
  model: z.union([pathSchema, stored], "expected the path of a directory, or saved weights"),
  from: stored.optional(),
  adapter: adapterSchema.optional(),
  valueHead: z.boolean().optional(),
});

const sampleRequest = z.object({
  policy: policyName,
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
  continued: z.boolean("expected true or false").optional(),
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

export type NumberField =
  | "weights"
  | "advantages"
  | "logprobs"
  | "reference"
  | "penalties"
  | "targets"
  | "values"
  | "mask";

export interface Field {
  readonly name: NumberField;
  /** `ones`: absent means 1. `all or none`: required if any continuation has it. */
  readonly presence: "required" | "ones" | "all or none";
  /** For the message if it is missing. */
  readonly reason: string;
}

/** What is read of the data besides the tokens. `loss` absent: for log-probabilities alone. */
export function fieldsOf(loss: Loss | undefined, data: readonly Datum[]): readonly Field[] {
  const isGiven = ({ name, presence }: Field): boolean =>
    presence !== "all or none" ||
    data.some(({ continuations }) => continuations.some((continuation) => continuation[name] !== undefined));
  return (loss === undefined ? [maskField] : fieldsOfLoss(loss)).filter(isGiven);
}

const maskField: Field = { name: "mask", presence: "all or none", reason: "another continuation has one" };

function fieldsOfLoss(loss: Loss): readonly Field[] {
  const needed = (name: NumberField, who = `the loss ${loss.type}`): Field => ({
    name,
    presence: "required",
    reason: `${who} needs it`,
  });
  const weights: Field = { name: "weights", presence: "ones", reason: "it is given" };
  switch (loss.type) {
    case "cross_entropy":
      return [weights, maskField];
    case "importance_sampling":
    case "ppo":
    case "cispo":
      return [needed("advantages"), needed("logprobs"), ...addedFields(loss, needed, weights), maskField];
    case "value": {
      const clip = loss.clip === undefined ? [] : [needed("values", "`clip`")];
      return [weights, needed("targets"), ...clip, maskField];
    }
    default: {
      const type = JSON.stringify((loss as { type: unknown }).type);
      const known = "cross_entropy, importance_sampling, ppo, cispo, value";
      throw new TroupeError("bad_arguments", `The loss ${type} is not one of ${known}.`);
    }
  }
}

/** What KL and entropy read. */
function addedFields(
  { kl, entropy }: KlInLoss & EntropyInLoss,
  needed: (name: NumberField, who: string) => Field,
  weights: Field,
): readonly Field[] {
  const reference: readonly Field[] =
    kl === undefined
      ? [{ name: "reference", presence: "all or none", reason: "another continuation has one" }]
      : [needed("reference", "`kl`"), needed("penalties", "`kl`")];
  return entropy === undefined ? reference : [...reference, weights];
}

/**
 * `loss` absent: for log-probabilities alone. @throws TroupeError `bad_arguments` for wrong types and numbers,
 * `bad_shape` for wrong lengths
 */
export function checkData(data: readonly Datum[], loss?: Loss): void {
  if (!isArray(data) || data.length === 0)
    throw new TroupeError("bad_arguments", "data is empty or no array; expected at least one datum.");
  for (const [i, datum] of data.entries()) checkDatum(datum, i); // also of holes
  for (const field of fieldsOf(loss, data)) {
    data.forEach(({ continuations }, i) =>
      continuations.forEach((continuation, j) => {
        const isAbsent = continuation[field.name] === undefined && field.presence === "ones";
        if (!isAbsent) checkNumbers(continuation, field, `data[${i}].continuations[${j}].${field.name}`);
      }),
    );
  }
}

/** The policies named in the data, once each; tolerates invalid data. */
export function policiesOf(data: readonly Datum[]): readonly PolicyName[] {
  const named: readonly (Partial<Datum> | null)[] = isArray(data) ? data : [];
  return [...new Set(named.flatMap((datum) => datum?.policy ?? []))];
}

/** Requires an Int32Array. */
export function checkTokens(tokens: unknown, where: string): void {
  if (!types.isInt32Array(tokens))
    throw new TroupeError("bad_arguments", `${where} must be an Int32Array of token ids.`);
}

/** `Array.isArray` without losing the element type. */
function isArray(value: unknown): boolean {
  return Array.isArray(value);
}

function checkDatum(datum: Datum, index: number): void {
  const where = `data[${index}]`;
  checkTokens((datum as Partial<Datum> | null)?.prompt, `${where}.prompt`);
  if (typeof datum.policy !== "string")
    throw new TroupeError("bad_arguments", `${where}.policy must be the name of a policy.`);
  if (!isArray(datum.continuations))
    throw new TroupeError("bad_arguments", `${where}.continuations must be an array.`);
  const continuations: readonly (Partial<Continuation> | null)[] = datum.continuations;
  for (const [i, each] of continuations.entries())
    checkTokens(each?.tokens, `${where}.continuations[${i}].tokens`);
}

function checkNumbers(continuation: Continuation, { name, reason }: Field, where: string): void {
  const values: unknown = continuation[name];
  if (!types.isFloat32Array(values))
    throw new TroupeError("bad_arguments", `${where} must be a Float32Array; ${reason}.`);
  const { length } = continuation.tokens;
  if (values.length !== length) {
    const found = `${values.length} values for ${length} tokens`;
    throw new TroupeError("bad_shape", `${where} has ${found}; expected one for each token.`);
  }
  const bad = values.findIndex((value) => !Number.isFinite(value));
  if (bad !== -1)
    throw new TroupeError("bad_arguments", `${where}[${bad}] is ${values[bad]}; expected a finite number.`);
  const half = name === "mask" ? values.findIndex((value) => value !== 0 && value !== 1) : -1;
  if (half !== -1)
    throw new TroupeError(
      "bad_arguments",
      `${where}[${half}] is ${values[half]}; expected 0 or 1: a token counts or does not. Weigh it by its advantage.`,
    );
}
