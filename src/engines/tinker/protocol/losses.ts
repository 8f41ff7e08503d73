/**
 * The losses of the engine interface as those of the protocol, for servers of Troupe: every option, and the prompt that
 * continuations share, are sent, so that the result is the engine's bit for bit.
 */
import { TroupeError } from "../../../errors.ts";
import { fieldsOf, type NumberField } from "../../data.ts";
import type {
  Continuation,
  Datum,
  EntropyInLoss,
  KlEstimator,
  KlInLoss,
  Loss,
  PolicyName,
} from "../../engine.ts";
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

/** Thresholds are ratios: 1 − low and 1 + high. */
export function lossConfig(loss: Loss): Readonly<Record<string, number | string>> {
  if (loss.type === "cross_entropy") return {};
  if (loss.type === "value") return defined({ value_clip: loss.clip });
  if (loss.type === "importance_sampling") return defined({ kl: loss.kl, entropy: loss.entropy });
  const bounds = { clip_low_threshold: 1 - loss.clipLow, clip_high_threshold: 1 + loss.clipHigh };
  if (loss.type === "cispo") return defined({ ...bounds, kl: loss.kl, entropy: loss.entropy });
  return defined({
    ...bounds,
    dual_clip: loss.dualClip,
    ratio: loss.ratio,
    kl: loss.kl,
    entropy: loss.entropy,
  });
}

/** Without what is undefined. */
function defined<T extends object>(settings: T): { [Key in keyof T]?: Exclude<T[Key], undefined> } {
  const present = Object.entries(settings).filter(([, value]) => value !== undefined);
  return Object.fromEntries(present) as { [Key in keyof T]?: Exclude<T[Key], undefined> };
}

export function lossName(loss: Loss): string {
  return loss.type === "value" ? "ppo_critic" : loss.type;
}

/** A loss of the protocol as one of the engine. */
export interface ProtocolLoss {
  readonly loss: Loss;
  /** Coefficient of the penalty for the divergence from the policy that sampled. */
  readonly penalty?: number | undefined;
}

/** @throws TroupeError `bad_arguments` for an unknown loss or setting */
export function lossOf(name: string, config: Readonly<Record<string, number | string>>): ProtocolLoss {
  const settings = new Settings(name, config);
  const loss = readPenalised(name, settings) ?? { loss: readLoss(name, settings) };
  settings.end();
  return loss;
}

/**
 * `dro`: −Σ (A·logp − ½·β·(logp − logprobs)²). `stable_reinforce`: −Σ min(ρ, 2)·A·logp + kl_coeff·½·(logp − logprobs)²
 * with a constant ratio; what the hosted service computes by this name is not published, and is the same where ρ = 1.
 */
function readPenalised(name: string, settings: Settings): ProtocolLoss | null {
  if (name !== "dro" && name !== "stable_reinforce") return null;
  const isDro = name === "dro";
  const penalty = settings.number(isDro ? "beta" : "kl_coeff") ?? (isDro ? undefined : 0);
  if (penalty === undefined) throw new TroupeError("bad_arguments", "The loss dro needs the setting beta.");
  const bound = isDro ? 0 : 1;
  const loss = { type: "cispo", clipLow: bound, clipHigh: bound } as const;
  return penalty === 0 ? { loss } : { loss: { ...loss, kl: "k2" }, penalty };
}

function readLoss(name: string, settings: Settings): Loss {
  switch (name) {
    case "cross_entropy":
      return { type: "cross_entropy" };
    case "cispo":
      return { type: "cispo", ...clips(settings), ...added(settings) };
    case "ppo_critic":
      return { type: "value", ...defined({ clip: settings.number("value_clip") }) };
    case "importance_sampling":
      return { type: "importance_sampling", ...added(settings) };
    case "gspo":
    case "ppo": {
      const ratio = settings.any("ratio") as "token" | "sequence" | undefined;
      return {
        type: "ppo",
        ...clips(settings),
        ...defined({
          dualClip: settings.number("dual_clip"),
          ratio: name === "gspo" ? "sequence" : ratio,
        }),
        ...added(settings),
      };
    }
    default:
      throw new TroupeError(
        "bad_arguments",
        `The loss ${JSON.stringify(name)} is not one of cross_entropy, importance_sampling, ppo, gspo, cispo, dro, stable_reinforce, ppo_critic.`,
      );
  }
}

function clips(settings: Settings): { clipLow: number; clipHigh: number } {
  return {
    clipLow: 1 - (settings.number("clip_low_threshold") ?? 0.8),
    clipHigh: (settings.number("clip_high_threshold") ?? 1.2) - 1,
  };
}

function added(settings: Settings): KlInLoss & EntropyInLoss {
  return defined({ kl: settings.any("kl") as KlEstimator | undefined, entropy: settings.number("entropy") });
}

/** A loss's settings, of which each is read once. */
class Settings {
  readonly #loss: string;
  readonly #left: Map<string, number | string>;

  constructor(loss: string, config: Readonly<Record<string, number | string>>) {
    this.#loss = loss;
    this.#left = new Map(Object.entries(config));
  }

  any(key: string): number | string | undefined {
    const value = this.#left.get(key);
    this.#left.delete(key);
    return value;
  }

  number(key: string): number | undefined {
    const value = this.any(key);
    if (value === undefined || typeof value === "number") return value;
    throw new TroupeError("bad_arguments", `${key} of the loss ${this.#loss} must be a number.`);
  }

  end(): void {
    const [unknown] = this.#left.keys();
    if (unknown === undefined) return;
    throw new TroupeError(
      "bad_arguments",
      `The loss ${this.#loss} has no setting ${JSON.stringify(unknown)}.`,
    );
  }
}

/** One datum of the protocol per continuation. `loss` absent: for log-probabilities alone. */
export function wireData(data: readonly Datum[], loss?: Loss): readonly WireDatum[] {
  const names = loss === undefined ? [] : fieldsOf(loss, data).map(({ name }) => name);
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
 * @param penalty see ProtocolLoss
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
    const numbers = withPenalty(mask === undefined ? given : { ...given, mask }, penalty);
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

function withPenalty(inputs: Inputs, penalty: number | undefined): Inputs {
  const { logprobs } = inputs;
  if (penalty === undefined || logprobs === undefined) return inputs;
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
