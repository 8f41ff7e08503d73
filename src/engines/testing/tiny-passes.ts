/** Passes over the tiny model: samples, token by token, and losses of data with their gradients. */
import { TroupeError } from "../../errors.ts";
import { drawFloat, generatorOf, keyAt, rootKey } from "../../random.ts";
import { fieldsOf, policiesOf, checkTokens } from "../checks.ts";
import type {
  Continuation,
  Datum,
  Loss,
  LossResult,
  TopTokens,
  PolicyInfo,
  SampledSequence,
  SampleRequest,
} from "../engine.ts";
import { entropyBonus, tokenLosses } from "../token-losses.ts";
import {
  backwardPass,
  forwardPass,
  isCritic,
  logitSlopes,
  logProbabilities,
  valueOf,
  type TinyPolicy,
  type TinyModel,
} from "./tiny-model.ts";

interface Passing {
  readonly policyOf: (name: string) => TinyPolicy;
  readonly isTraining: boolean;
  /** Whether the engine measures the entropy. */
  readonly hasEntropy: boolean;
}

/** All data are checked before the first gradient changes. */
export function passOver(
  { policyOf, isTraining, hasEntropy }: Passing,
  data: readonly Datum[],
  loss: Loss,
): LossResult {
  const hasReference = isTraining && fieldsOf(loss, data).some(({ name }) => name === "reference");
  for (const datum of data) check(policyOf(datum.policy), datum, isTraining ? loss : null);
  const results = data.flatMap((datum) =>
    datum.continuations.map((continuation) =>
      passOne(policyOf(datum.policy), datum.prompt, continuation, loss, isTraining),
    ),
  );
  const sum = (field: "loss" | "tokens" | "entropy" | "kl" | "referenceKl" | "clipped"): number =>
    results.reduce((total, result) => total + result[field], 0);
  const hasCritic = policiesOf(data).some((name) => isCritic(policyOf(name).model));
  return {
    loss: sum("loss"),
    tokens: sum("tokens"),
    ...(hasEntropy ? { entropy: sum("entropy") } : {}),
    kl: sum("kl"),
    ...(hasReference ? { referenceKl: sum("referenceKl") } : {}),
    clipped: sum("clipped"),
    logprobs: results.map(({ logprobs }) => logprobs),
    ...(hasCritic ? { values: results.map(({ values }) => values) } : {}),
  };
}

export function topTokens(
  policyOf: Passing["policyOf"],
  data: readonly Datum[],
  top: number,
): readonly TopTokens[] {
  return data.flatMap(({ policy, prompt, continuations }) => {
    const { model, info } = policyOf(policy);
    if (isCritic(model) || top > info.vocabularySize)
      throw new TroupeError("bad_arguments", `${policy} has no ${top} most probable tokens.`);
    return continuations.map(({ tokens }) => {
      const best = forwardPass(model, prompt, tokens).hidden.flatMap((hidden) =>
        [...logProbabilities(model, hidden).entries()].toSorted(([, a], [, b]) => b - a).slice(0, top),
      );
      return {
        tokens: Int32Array.from(best, ([token]) => token),
        logprobs: Float32Array.from(best, ([, logprob]) => logprob),
      };
    });
  });
}

function check(
  { info, model }: TinyPolicy,
  { policy, prompt, continuations }: Datum,
  loss: Loss | null,
): void {
  if (loss !== null && (loss.type === "value") !== isCritic(model))
    throw new TroupeError(
      "bad_arguments",
      `${policy} is ${isCritic(model) ? "a" : "no"} critic; not its loss.`,
    );
  if (continuations.length === 0)
    throw new TroupeError("bad_shape", `Data of ${policy} have no continuations.`);
  for (const tokens of [prompt, ...continuations.map((each) => each.tokens)]) {
    if (tokens.length === 0) throw new TroupeError("bad_shape", `Data of ${policy} have no tokens.`);
    checkIds(tokens, info.vocabularySize, `data of ${policy}`);
  }
  const longest = prompt.length + Math.max(...continuations.map(({ tokens }) => tokens.length));
  if (longest > info.maxLength)
    throw new TroupeError("too_long", `${longest} tokens are longer than the model's ${info.maxLength}.`);
}

function passOne(
  { model, gradients }: TinyPolicy,
  prompt: Int32Array,
  continuation: Continuation,
  loss: Loss,
  isTraining: boolean,
): ContinuationResult {
  const { tokens } = continuation;
  const pass = forwardPass(model, prompt, tokens);
  const critic = isCritic(model);
  const distributions = critic ? [] : pass.hidden.map((hidden) => logProbabilities(model, hidden));
  const outputs = critic
    ? pass.hidden.map((hidden) => valueOf(model, hidden))
    : distributions.map((distribution, at) => distribution[tokens[at] ?? 0] ?? 0);
  const entropies = distributions.map(entropyOf);
  const terms = isTraining ? tokenLosses(loss, continuation, outputs, entropies) : [];
  if (isTraining) {
    const slopes = terms.map(({ slope }, at) =>
      critic
        ? Float64Array.of(slope)
        : logitSlopes(
            distributions[at] as Float64Array,
            tokens[at] ?? 0,
            slope,
            entropyBonus(loss, continuation, at),
          ),
    );
    backwardPass(model, gradients, pass, slopes);
  }
  const counted = [...tokens.keys()].filter((at) => terms[at]?.counts ?? continuation.mask?.[at] !== 0);
  const sum = (of: (term: (typeof terms)[number]) => number): number =>
    terms.reduce((total, term) => total + of(term), 0);
  return {
    loss: sum((term) => term.loss),
    tokens: counted.length,
    entropy: critic ? 0 : counted.reduce((total, at) => total + (entropies[at] ?? 0), 0),
    kl: sum(({ kl }) => kl),
    referenceKl: sum(({ referenceKl }) => referenceKl),
    clipped: sum(({ clipped }) => (clipped ? 1 : 0)),
    logprobs: Float32Array.from(critic ? [] : outputs),
    values: Float32Array.from(critic ? outputs : []),
  };
}

interface ContinuationResult {
  readonly loss: number;
  readonly tokens: number;
  readonly entropy: number;
  readonly kl: number;
  readonly referenceKl: number;
  readonly clipped: number;
  readonly logprobs: Float32Array;
  readonly values: Float32Array;
}

function entropyOf(logprobs: Float64Array): number {
  return logprobs.reduce((sum, logprob) => sum - Math.exp(logprob) * logprob, 0);
}

/** Rejects invalid requests, with the local engine's codes. */
export function checkRequest(request: SampleRequest, { vocabularySize, maxLength }: PolicyInfo): void {
  const { prompt, count, maxTokens, temperature, topK = 0, topP = 1, seed, stopTokens = [] } = request;
  checkTokens(prompt, "prompt");
  checkIds(prompt, vocabularySize, "prompt");
  checkIds(stopTokens, vocabularySize, "stopTokens");
  if (prompt.length === 0)
    throw new TroupeError("bad_shape", "The prompt is empty; expected at least one token.");
  if (prompt.length >= maxLength)
    throw new TroupeError("too_long", `A prompt of ${prompt.length} tokens fills the model's ${maxLength}.`);
  const isRight = {
    count: Number.isSafeInteger(count) && count >= 1,
    maxTokens: Number.isSafeInteger(maxTokens) && maxTokens >= 1,
    temperature: Number.isFinite(temperature) && temperature >= 0,
    topK: Number.isSafeInteger(topK) && topK >= 0,
    topP: topP > 0 && topP <= 1,
    seed: Number.isSafeInteger(seed) && seed >= 0,
  };
  const wrong = Object.entries(isRight).find(([, right]) => !right)?.[0];
  if (wrong !== undefined) throw new TroupeError("bad_arguments", `${wrong} is out of its range.`);
}

function checkIds(ids: Iterable<number>, vocabularySize: number, where: string): void {
  for (const id of ids) {
    if (Number.isSafeInteger(id) && id >= 0 && id < vocabularySize) continue;
    throw new TroupeError(
      "bad_token",
      `${where} has ${id}; expected token ids from 0 to ${vocabularySize - 1}.`,
    );
  }
}

/** @param bytesOf of a token, for stop strings */
export function sampleSequence(
  model: TinyModel,
  request: SampleRequest,
  index: number,
  limit: number,
  bytesOf: (token: number) => Uint8Array,
): Omit<SampledSequence, "policyVersion"> {
  const { prompt, seed, stopTokens = [], stopStrings = [] } = request;
  const tokens: number[] = [];
  const logprobs: number[] = [];
  let text = Buffer.alloc(0);
  while (tokens.length < limit) {
    // The last position of a pass over the tokens so far; a placeholder takes the next token's place.
    const { hidden } = forwardPass(model, Int32Array.of(...prompt, ...tokens), Int32Array.of(0));
    const distribution = logProbabilities(model, hidden[0] as Float64Array);
    const token = choose(distribution, request, keyAt(rootKey(seed), index, tokens.length));
    tokens.push(token);
    logprobs.push(distribution[token] ?? 0);
    if (stopStrings.length > 0) text = Buffer.concat([text, bytesOf(token)]);
    const isOver = stopTokens.includes(token) || stopStrings.some((stop) => text.includes(stop));
    if (isOver) return sequence(tokens, logprobs, "stop");
  }
  return sequence(tokens, logprobs, "length");
}

function sequence(
  tokens: readonly number[],
  logprobs: readonly number[],
  stopReason: SampledSequence["stopReason"],
): Omit<SampledSequence, "policyVersion"> {
  return { tokens: Int32Array.from(tokens), logprobs: Float32Array.from(logprobs), stopReason };
}

function choose(
  logprobs: Float64Array,
  { temperature, topK = 0, topP = 1 }: SampleRequest,
  key: ReturnType<typeof rootKey>,
): number {
  const ranked = Array.from(logprobs, (logprob, id) => ({ id, logprob })).toSorted(
    (one, other) => other.logprob - one.logprob || one.id - other.id,
  );
  const best = ranked[0]?.id ?? 0;
  if (temperature === 0) return best;
  const kept = ranked.slice(0, topK === 0 ? ranked.length : topK).map(({ id, logprob }) => ({
    id,
    weight: Math.exp((logprob - (ranked[0]?.logprob ?? 0)) / temperature),
  }));
  const nucleus = upTo(kept, topP);
  let left = drawFloat(generatorOf(key)) * nucleus.reduce((sum, { weight }) => sum + weight, 0);
  return nucleus.find(({ weight }) => (left -= weight) < 0)?.id ?? best;
}

/** The smallest set of most probable tokens with a total share of at least `topP`. */
function upTo<T extends { readonly weight: number }>(ranked: readonly T[], topP: number): readonly T[] {
  const total = ranked.reduce((sum, { weight }) => sum + weight, 0);
  let share = 0;
  const last = ranked.findIndex(({ weight }) => (share += weight / total) >= topP);
  return topP === 1 || last === -1 ? ranked : ranked.slice(0, last + 1);
}
