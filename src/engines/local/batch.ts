/** Training data as a few flat arrays, checked: one call into the engine whatever the number of sequences. */
import { types } from "node:util";
import { TroupeError } from "../../errors.ts";
import type { Continuation, Datum, Loss } from "../engine.ts";
import type { FlatBatch } from "./native.ts";

type NumberField = "weights" | "advantages" | "logprobs";

/** What a loss reads beside the tokens; a field that may be absent counts as ones. */
const fieldsOf: Readonly<Partial<Record<Loss["type"], readonly { name: NumberField; optional: boolean }[]>>> =
  {
    cross_entropy: [{ name: "weights", optional: true }],
    importance_sampling: [
      { name: "advantages", optional: false },
      { name: "logprobs", optional: false },
    ],
    ppo: [
      { name: "advantages", optional: false },
      { name: "logprobs", optional: false },
    ],
  };

/** `loss` absent: for log-probabilities alone. Wrong types: `bad_arguments`; wrong lengths: `bad_shape`. */
export function flatten(data: readonly Datum[], loss?: Loss): FlatBatch {
  if (data.length === 0)
    throw new TroupeError("bad_arguments", "data is empty; expected at least one datum.");
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

/** Cuts a flat array into one for each continuation of the data. */
export function perContinuation(data: readonly Datum[], flat: Float32Array): Float32Array[] {
  let at = 0;
  return data.flatMap((datum) =>
    datum.continuations.map(({ tokens }) => {
      at += tokens.length;
      return flat.slice(at - tokens.length, at);
    }),
  );
}

/** Refuses what is not an Int32Array, naming it. */
export function checkTokens(tokens: unknown, where: string): void {
  if (!types.isInt32Array(tokens))
    throw new TroupeError("bad_arguments", `${where} must be an Int32Array of token ids.`);
}

function checkDatum(datum: Datum, index: number): void {
  const where = `data[${index}]`;
  checkTokens(datum.prompt, `${where}.prompt`);
  datum.continuations.forEach(({ tokens }, i) => checkTokens(tokens, `${where}.continuations[${i}].tokens`));
}

function numbersFor(loss: Loss, data: readonly Datum[]): Partial<Record<NumberField, Float32Array>> {
  const fields = fieldsOf[loss.type];
  if (fields === undefined) {
    const known = Object.keys(fieldsOf).join(", ");
    throw new TroupeError("bad_arguments", `The loss ${JSON.stringify(loss.type)} is not one of ${known}.`);
  }
  return Object.fromEntries(
    fields.map((field) => [field.name, numbersOf(data, field.name, field.optional, loss)]),
  );
}

function numbersOf(data: readonly Datum[], name: NumberField, optional: boolean, loss: Loss): Float32Array {
  const arrays = data.flatMap((datum, i) =>
    datum.continuations.map((continuation, j) => {
      if (continuation[name] === undefined && optional)
        return new Float32Array(continuation.tokens.length).fill(1);
      return checkedNumbers(continuation, name, `data[${i}].continuations[${j}].${name}`, loss);
    }),
  );
  return concatenate(Float32Array, arrays);
}

function checkedNumbers(
  continuation: Continuation,
  name: NumberField,
  where: string,
  loss: Loss,
): Float32Array {
  const values: unknown = continuation[name];
  if (!types.isFloat32Array(values)) {
    throw new TroupeError(
      "bad_arguments",
      `${where} must be a Float32Array; the loss ${loss.type} needs it.`,
    );
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
