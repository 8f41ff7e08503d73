/** Training data as a few flat arrays, checked: one call into the engine whatever the number of sequences. */
import { types } from "node:util";
import { TroupeError } from "../../errors.ts";
import type { Continuation, Datum, KlTerm, Loss, PolicyName } from "../engine.ts";
import type { FlatBatch } from "./native.ts";

type NumberField = "weights" | "advantages" | "logprobs" | "reference" | "penalties" | "targets" | "values";

interface Field {
  readonly name: NumberField;
  /** `ones`: where it is absent it counts as ones. `all or none`: where no continuation has it, it is left out. */
  readonly presence: "required" | "ones" | "all or none";
  /** For the message where it is missing. */
  readonly reason: string;
}

/** What a loss reads beside the tokens. */
function fieldsOf(loss: Loss): readonly Field[] {
  const needed = (name: NumberField, who = `the loss ${loss.type}`): Field => ({
    name,
    presence: "required",
    reason: `${who} needs it`,
  });
  const weights: Field = { name: "weights", presence: "ones", reason: "it is given" };
  switch (loss.type) {
    case "cross_entropy":
      return [weights];
    case "importance_sampling":
    case "ppo":
      return [needed("advantages"), needed("logprobs"), ...referenceFields(loss, needed)];
    case "value":
      return [weights, needed("targets"), ...(loss.clip === undefined ? [] : [needed("values", "`clip`")])];
    default: {
      const type = JSON.stringify((loss as { type: unknown }).type);
      const known = "cross_entropy, importance_sampling, ppo, value";
      throw new TroupeError("bad_arguments", `The loss ${type} is not one of ${known}.`);
    }
  }
}

function referenceFields(loss: KlTerm, needed: (name: NumberField, who: string) => Field): readonly Field[] {
  if (loss.kl !== undefined) return [needed("reference", "`kl`"), needed("penalties", "`kl`")];
  return [{ name: "reference", presence: "all or none", reason: "another continuation has one" }];
}

/** `loss` absent: for log-probabilities alone. Wrong types: `bad_arguments`; wrong lengths: `bad_shape`. */
export function flatten(data: readonly Datum[], loss?: Loss): FlatBatch {
  if (!isArray(data) || data.length === 0)
    throw new TroupeError("bad_arguments", "data is empty or no array; expected at least one datum.");
  data.forEach(checkDatum);
  const continuations = data.flatMap((datum) => datum.continuations);
  const policies = [...new Set(data.map((datum) => datum.policy))];
  const numbers = loss === undefined ? {} : numbersFor(loss, data);
  return {
    policies,
    policyOf: Int32Array.from(data, (datum) => policies.indexOf(datum.policy)),
    promptLengths: Int32Array.from(data, (datum) => datum.prompt.length),
    continuationCounts: Int32Array.from(data, (datum) => datum.continuations.length),
    continuationLengths: Int32Array.from(continuations, (continuation) => continuation.tokens.length),
    tokens: concatenate(
      Int32Array,
      data.flatMap((datum) => [
        datum.prompt,
        ...datum.continuations.map((continuation) => continuation.tokens),
      ]),
    ),
    ...numbers,
  };
}

/** The policies that data name, each once, whatever else is wrong with the data. */
export function policiesOf(data: readonly Datum[]): readonly PolicyName[] {
  const named: readonly (Partial<Datum> | null)[] = isArray(data) ? data : [];
  return [...new Set(named.flatMap((datum) => datum?.policy ?? []))];
}

/** Refuses what is not an Int32Array, naming it. */
export function checkTokens(tokens: unknown, where: string): void {
  if (!types.isInt32Array(tokens))
    throw new TroupeError("bad_arguments", `${where} must be an Int32Array of token ids.`);
}

/** As `Array.isArray`, which would forget what the elements are. */
function isArray(value: unknown): boolean {
  return Array.isArray(value);
}

function checkDatum(datum: Datum, index: number): void {
  const where = `data[${index}]`;
  checkTokens((datum as Partial<Datum> | null)?.prompt, `${where}.prompt`);
  if (!isArray(datum.continuations))
    throw new TroupeError("bad_arguments", `${where}.continuations must be an array.`);
  const continuations: readonly (Partial<Continuation> | null)[] = datum.continuations;
  continuations.forEach((each, i) => checkTokens(each?.tokens, `${where}.continuations[${i}].tokens`));
}

function numbersFor(loss: Loss, data: readonly Datum[]): Partial<Record<NumberField, Float32Array>> {
  const given = (name: NumberField): boolean =>
    data.some(({ continuations }) => continuations.some((continuation) => continuation[name] !== undefined));
  const fields = fieldsOf(loss).filter(({ name, presence }) => presence !== "all or none" || given(name));
  return Object.fromEntries(fields.map((field) => [field.name, numbersOf(data, field)]));
}

function numbersOf(data: readonly Datum[], field: Field): Float32Array {
  const arrays = data.flatMap((datum, i) =>
    datum.continuations.map((continuation, j) => {
      if (continuation[field.name] === undefined && field.presence === "ones")
        return new Float32Array(continuation.tokens.length).fill(1);
      return checkedNumbers(continuation, field, `data[${i}].continuations[${j}].${field.name}`);
    }),
  );
  return concatenate(Float32Array, arrays);
}

function checkedNumbers(continuation: Continuation, { name, reason }: Field, where: string): Float32Array {
  const values: unknown = continuation[name];
  if (!types.isFloat32Array(values)) {
    throw new TroupeError("bad_arguments", `${where} must be a Float32Array; ${reason}.`);
  }
  const { length } = continuation.tokens;
  if (values.length !== length) {
    const found = `${values.length} values for ${length} tokens`;
    throw new TroupeError("bad_shape", `${where} has ${found}; expected one for each token.`);
  }
  return values;
}

function concatenate<T extends Int32Array | Float32Array>(
  constructor: new (length: number) => T,
  arrays: readonly T[],
): T {
  const result = new constructor(arrays.reduce((sum, array) => sum + array.length, 0));
  let at = 0;
  for (const array of arrays) {
    result.set(array, at);
    at += array.length;
  }
  return result;
}
