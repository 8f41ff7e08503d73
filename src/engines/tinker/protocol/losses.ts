/**
 * Data of losses in the protocol. For servers of Troupe, the prompt that continuations share is sent, so that the result
 * is the engine's bit for bit.
 */
import { TroupeError } from "../../../errors.ts";
import { fieldsOf, type NumberField } from "../../checks.ts";
import type { Continuation, Datum, Loss, PolicyName } from "../../engine.ts";
import type { WireDatum } from "./forward-backward.ts";
import type { Tensor } from "./tensors.ts";

/** Names of a continuation's numbers in the protocol; SkyRL names a critic's targets `returns`. */
const inputNames: Readonly<Record<NumberField, string>> = {
  weights: "weights",
  advantages: "advantages",
  logprobs: "logprobs",
  reference: "reference_logprobs",
  penalties: "kl_penalties",
  targets: "returns",
  values: "values",
  mask: "mask",
};

/** Troupe: length of the prompt, and number of the group of data that share it. Absent: one token, no group. */
const promptInput = "prompt_group";

/** Of gspo: which tokens the ratio is of. */
const ratioMaskInput = "sequence_ratio_mask";

/** One datum of the protocol per continuation. `loss` absent: for log-probabilities alone, where masks still count. */
export function wireData(data: readonly Datum[], loss?: Loss): readonly WireDatum[] {
  const names = fieldsOf(loss, data).map(({ name }) => name);
  return data.flatMap(({ prompt, continuations }, group) =>
    continuations.map((continuation) => wireDatum(prompt, continuation, names, group)),
  );
}

function wireDatum(
  prompt: Int32Array,
  continuation: Continuation,
  names: readonly NumberField[],
  group: number,
): WireDatum {
  const { tokens, inputs } = sequenceDatum(prompt, continuation.tokens);
  const shared = { [promptInput]: { values: Int32Array.of(prompt.length, group), shape: [2] } };
  const numbers = names.map((name) => {
    const values = numbersOf(continuation, name);
    return [inputNames[name], afterPrompt(prompt, values)] as const;
  });
  return { tokens, inputs: { ...inputs, ...shared, ...Object.fromEntries(numbers) } };
}

/** A prompt and its continuation: every token but the last, each with the next one as its target. */
export function sequenceDatum(prompt: Int32Array, continuation: Int32Array): WireDatum {
  const length = prompt.length + continuation.length - 1;
  const whole = new Int32Array(length + 1);
  whole.set(prompt);
  whole.set(continuation, prompt.length);
  const targets = { values: whole.subarray(1), shape: [length] };
  return { tokens: whole.subarray(0, length), inputs: { target_tokens: targets } };
}

/** One for each token of the continuation; absent ones are 1. */
export function numbersOf(continuation: Continuation, name: NumberField): Float32Array {
  return continuation[name] ?? new Float32Array(continuation.tokens.length).fill(1);
}

/** A continuation's numbers at the places that predict its tokens, with zeros on the prompt. */
export function afterPrompt(prompt: Int32Array, numbers: Float32Array): Tensor {
  const values = new Float32Array(prompt.length + numbers.length - 1);
  values.set(numbers, prompt.length - 1);
  return { values, shape: [values.length] };
}

/** Of a request: whether its datum has Troupe's prompt, whose rows are left out of results. */
export function hasPrompt({ inputs }: WireDatum): boolean {
  return inputs[promptInput] !== undefined;
}

/**
 * The engine's data. Without a prompt's length, the prompt is what comes before the first target that follows from the
 * input (of what is not trained, clients may send any), and a mask says what else is not trained.
 * @param penalty see `ProtocolLoss`
 * @throws TroupeError `bad_arguments`, `bad_shape` for data that the engine cannot express
 */
export function engineData(
  policy: PolicyName,
  data: readonly WireDatum[],
  penalty?: number,
): readonly Datum[] {
  const found: { group: number; datum: Datum & { continuations: Continuation[] } }[] = [];
  const masks = masksOf(data);
  data.forEach(({ tokens, inputs }, index) => {
    const where = `data[${index}]`;
    const { [promptInput]: shared, target_tokens: targets, [ratioMaskInput]: _, ...given } = inputs;
    const mask = masks?.[index];
    const numbers = withPenalty(where, mask === undefined ? given : { ...given, mask }, penalty);
    const untrained = 1 + leadingUntrained(tokens, targets, numbers);
    const [promptLength = untrained, group = -1 - index] = shared?.values ?? [];
    const continuation = continuationOf(where, tokens, targets, numbers, promptLength);
    const last = found.at(-1);
    const prompt = tokens.slice(0, promptLength);
    if (last?.group === group) {
      checkSame(last.datum.prompt, prompt, `${where} has ${promptInput} ${group}`);
      last.datum.continuations.push(continuation);
    } else found.push({ group, datum: { policy, prompt, continuations: [continuation] } });
  });
  return found.map(({ datum }) => datum);
}

type Inputs = Readonly<Record<string, Tensor>>;

/** One for each datum, or none if everything counts. */
function masksOf(data: readonly WireDatum[]): readonly Tensor[] | null {
  const masks = data.map(({ tokens, inputs }, index) => maskOf(inputs, tokens.length, `data[${index}]`));
  return masks.every(({ values }) => values.every((value) => value !== 0)) ? null : masks;
}

/** A token does not count if all that the client sent of it is zero, as on prompts and between turns. */
function maskOf(inputs: Inputs, length: number, where: string): Tensor {
  const { advantages, weights, logprobs, mask, [ratioMaskInput]: ratioMask } = inputs;
  const penalties = inputs[inputNames.penalties];
  const scales = [advantages, weights, penalties].filter((each) => each !== undefined);
  if (ratioMask !== undefined) {
    const wrong = ratioMask.values.findIndex(
      (value, at) => value === 0 && scales.some(({ values }) => values[at] !== 0),
    );
    if (wrong === -1) return ratioMask;
    throw new TroupeError(
      "bad_arguments",
      `${where} has an advantage at ${wrong}, where ${ratioMaskInput} is 0; only tokens of the ratio are trained.`,
    );
  }
  if (mask !== undefined) return mask;
  const values = new Float32Array(length).fill(1);
  if (inputs[promptInput] !== undefined || scales.length === 0) return { values, shape: [length] };
  const sent = logprobs === undefined ? scales : [...scales, logprobs];
  return {
    values: values.map((_, at) => (sent.some((each) => each.values[at] !== 0) ? 1 : 0)),
    shape: [length],
  };
}

function withPenalty(where: string, inputs: Inputs, penalty: number | undefined): Inputs {
  const { logprobs } = inputs;
  if (penalty === undefined || logprobs === undefined) return inputs;
  const given = [inputNames.reference, inputNames.penalties].find((name) => inputs[name] !== undefined);
  if (given !== undefined)
    throw new TroupeError(
      "bad_arguments",
      `${where} has the input ${given}; the penalty of this loss is for the divergence from logprobs. Leave it out.`,
    );
  const values = new Float32Array(logprobs.values.length).fill(penalty);
  const penalties = { values, shape: logprobs.shape };
  return { ...inputs, [inputNames.reference]: logprobs, [inputNames.penalties]: penalties };
}

/** The engine computes the prompt of a group once. @throws TroupeError `bad_arguments` */
function checkSame(first: Int32Array, prompt: Int32Array, what: string): void {
  if (prompt.length === first.length && prompt.every((token, at) => token === first[at])) return;
  throw new TroupeError(
    "bad_arguments",
    `${what} but another prompt than the datum before it; expected the same, or another group.`,
  );
}

/** Targets before the first that follows from the input, if all of them have advantage or weight zero. */
function leadingUntrained(
  tokens: Int32Array,
  targets: Tensor | undefined,
  { advantages, weights, mask, [inputNames.penalties]: penalties }: Inputs,
): number {
  const last = tokens.findLastIndex((token, at) => at > 0 && targets?.values[at - 1] !== token);
  const scales = [advantages, weights, penalties].flatMap((each) => each?.values ?? []);
  const isZero = (values: Tensor["values"]): boolean =>
    values.subarray(0, last).every((value) => value === 0);
  const isUntrained = scales.every(isZero) || (mask !== undefined && isZero(mask.values));
  return last > 0 && (advantages ?? weights) !== undefined && isUntrained ? last : 0;
}

function continuationOf(
  where: string,
  tokens: Int32Array,
  targets: Tensor | undefined,
  numbers: Readonly<Record<string, Tensor>>,
  promptLength: number,
): Continuation {
  if (targets === undefined)
    throw new TroupeError("bad_arguments", `${where} has no target_tokens; expected one for each token.`);
  if (targets.values.length !== tokens.length || targets.shape.length !== 1)
    throw new TroupeError(
      "bad_shape",
      `${where} has target_tokens of shape [${targets.shape.join(", ")}] for ${tokens.length} tokens; expected one each.`,
    );
  const wrong = tokens.findIndex((token, at) => at >= promptLength && targets.values[at - 1] !== token);
  if (wrong !== -1)
    throw new TroupeError(
      "bad_arguments",
      `${where}.target_tokens[${wrong - 1}] is not the next token; only the input shifted by one is supported.`,
    );
  const entries = Object.entries(numbers).map(([name, tensor]) => {
    const field = fieldNamed(name);
    if (field === undefined)
      throw new TroupeError(
        "bad_arguments",
        `${where} has the input ${JSON.stringify(name)}, which no loss uses.`,
      );
    const values = tensor.values instanceof Float32Array ? tensor.values : Float32Array.from(tensor.values);
    if (values.length !== tokens.length)
      throw new TroupeError(
        "bad_shape",
        `${where}.${name} has ${values.length} values for ${tokens.length} tokens.`,
      );
    return [field, values.slice(promptLength - 1)];
  });
  return {
    tokens: Int32Array.from(targets.values.subarray(promptLength - 1)),
    ...(Object.fromEntries(entries) as Partial<Record<NumberField, Float32Array>>),
  };
}

function fieldNamed(name: string): NumberField | undefined {
  return (Object.keys(inputNames) as NumberField[]).find((field) => inputNames[field] === name);
}
