/** Training data that every engine rejects, whatever it computes with: wrong types, lengths and numbers, by name. */
import { types } from "node:util";
import { TroupeError } from "../errors.ts";
import type { Continuation, Datum, EntropyInLoss, KlInLoss, Loss, PolicyName } from "./engine.ts";

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

/** What a loss reads of the data besides the tokens. */
export function fieldsOf(loss: Loss, data: readonly Datum[]): readonly Field[] {
  const isGiven = ({ name, presence }: Field): boolean =>
    presence !== "all or none" ||
    data.some(({ continuations }) => continuations.some((continuation) => continuation[name] !== undefined));
  return fieldsOfLoss(loss).filter(isGiven);
}

function fieldsOfLoss(loss: Loss): readonly Field[] {
  const needed = (name: NumberField, who = `the loss ${loss.type}`): Field => ({
    name,
    presence: "required",
    reason: `${who} needs it`,
  });
  const weights: Field = { name: "weights", presence: "ones", reason: "it is given" };
  const mask: Field = { name: "mask", presence: "all or none", reason: "another continuation has one" };
  switch (loss.type) {
    case "cross_entropy":
      return [weights, mask];
    case "importance_sampling":
    case "ppo":
    case "cispo":
      return [needed("advantages"), needed("logprobs"), ...addedFields(loss, needed, weights), mask];
    case "value": {
      const clip = loss.clip === undefined ? [] : [needed("values", "`clip`")];
      return [weights, needed("targets"), ...clip, mask];
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
  for (const field of loss === undefined ? [] : fieldsOf(loss, data)) {
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
