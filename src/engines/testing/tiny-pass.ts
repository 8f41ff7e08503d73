/** Losses of data, and their gradients. */
import { TroupeError } from "../../errors.ts";
import { fieldsOf, policiesOf } from "../data.ts";
import type { Continuation, Datum, Loss, LossResult, TopTokens } from "../engine.ts";
import { entropyBonus, tokenLosses } from "../token-losses.ts";
import { backwardPass, forwardPass, isCritic, logitSlopes, logProbabilities, valueOf } from "./tiny-model.ts";
import type { TinyPolicy } from "./tiny-policy.ts";
import { checkIds } from "./tiny-sampling.ts";

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
  const counted = [...tokens.keys()].filter((at) => terms[at]?.counts ?? true);
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
