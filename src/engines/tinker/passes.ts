/** Gradients and log-probabilities: data of several policies, one policy after the other. */
import { TroupeError } from "../../errors.ts";
import { checkData, policiesOf } from "../checks.ts";
import type { Datum, Loss, LossResult, PolicyInfo, PolicyName, AdamOptions } from "../engine.ts";
import type { RemoteModel } from "./client/model.ts";
import {
  arraysOf,
  lossResult,
  mergedResults,
  isNative,
  measured,
  plainData,
  surrogateData,
} from "./losses.ts";
import type { Profile } from "./profiles.ts";
import { lossConfig, lossName } from "./protocol/loss-settings.ts";
import { wireData } from "./protocol/losses.ts";

interface Work {
  readonly profile: Profile;
  readonly signal: AbortSignal | undefined;
  /** Called once the server has everything that changes the gradient. */
  readonly onSubmitted?: (() => void) | undefined;
}

/** What a pass needs of a policy. */
export interface TrainedPolicy {
  readonly model: RemoteModel;
  readonly info: PolicyInfo;
  readonly critic: boolean;
  /** Calls of forwardBackward since the last step. */
  gradients: number;
}

interface AllWork extends Work {
  readonly policyOf: (name: PolicyName) => TrainedPolicy;
}

/** Every policy's data is checked before the first is sent. `loss` absent: without gradients. */
export async function passAll(
  { policyOf, profile, signal, onSubmitted }: AllWork,
  data: readonly Datum[],
  loss: Loss | undefined,
): Promise<LossResult> {
  checkData(data, loss);
  for (const datum of data) checkDatum(datum, policyOf(datum.policy), loss);
  const results = new Map<PolicyName, LossResult>();
  const names = policiesOf(data);
  for (const name of names) {
    const own = data.filter(({ policy }) => policy === name);
    const told = name === names.at(-1) ? onSubmitted : undefined;
    results.set(name, await passOf(policyOf(name), own, loss, { profile, signal, onSubmitted: told }));
  }
  const owners = data.flatMap(({ policy, continuations }) => continuations.map(() => policy));
  return mergedResults(owners, results);
}

async function passOf(
  policy: TrainedPolicy,
  data: readonly Datum[],
  loss: Loss | undefined,
  work: Work,
): Promise<LossResult> {
  const { model, critic } = policy;
  if (loss !== undefined && work.profile.reduction === "mean" && policy.gradients++ > 0)
    throw new TroupeError(
      "unsupported",
      `${work.profile.title} averages over a step's data: give all of it to one forwardBackward.`,
    );
  return pass({ ...work, model, critic }, data, loss);
}

/** The work of one policy. */
type Pass = Work & Pick<TrainedPolicy, "model" | "critic">;

/** `loss` absent: without gradients. */
export function pass(of: Pass, data: readonly Datum[], loss: Loss | undefined): Promise<LossResult> {
  if (of.profile.data === "engine") return enginePass(of, data, loss);
  return loss === undefined ? forward(of, data) : backward(of, data, loss);
}

async function enginePass(
  { model, critic, profile, signal, onSubmitted }: Pass,
  data: readonly Datum[],
  loss: Loss | undefined,
): Promise<LossResult> {
  const request = {
    loss: loss === undefined ? "cross_entropy" : lossName(loss),
    config: loss === undefined ? {} : lossConfig(loss),
    data: wireData(data, loss),
    forwardOnly: loss === undefined,
  };
  const waiting = { signal, isCancellable: profile.cancels };
  return lossResult(data, await model.forwardBackward(request, waiting, onSubmitted), critic);
}

async function forward({ model, profile }: Pass, data: readonly Datum[]): Promise<LossResult> {
  const loss: Loss = { type: "cross_entropy" };
  const forwardOnly = profile.lacksForward !== true;
  const given = forwardOnly ? data : weightless(data);
  const request = { loss: loss.type, config: {}, data: plainData(given, loss, profile), forwardOnly };
  const outputs = await model.forwardBackward(request, {});
  return measured(data, undefined, arraysOf(data, outputs, "logprobs"));
}

/** Their gradients are zero. */
function weightless(data: readonly Datum[]): readonly Datum[] {
  return data.map((datum) => ({
    ...datum,
    continuations: datum.continuations.map(({ tokens }) => ({
      tokens,
      weights: new Float32Array(tokens.length),
    })),
  }));
}

/** Such a server cannot cancel: the gradient would be left with an unknown part of the data. */
async function backward(of: Pass, data: readonly Datum[], loss: Loss): Promise<LossResult> {
  const { model, profile, signal, onSubmitted } = of;
  if (isNative(loss, profile)) {
    const outputs = await model.forwardBackward(plainRequest(data, loss, profile), {}, onSubmitted);
    return measured(data, loss, arraysOf(data, outputs, "logprobs"));
  }
  const now = await forward(of, data);
  if (signal?.aborted === true) throw new TroupeError("cancelled", "Cancelled before the gradient.");
  const surrogate: Loss = { type: "importance_sampling" };
  const request = plainRequest(surrogateData(data, loss, now.logprobs), surrogate, profile);
  arraysOf(data, await model.forwardBackward(request, {}, onSubmitted), "logprobs");
  return measured(data, loss, now.logprobs);
}

function plainRequest(data: readonly Datum[], loss: Loss, profile: Profile) {
  const config = loss.type === "ppo" ? lossConfig(loss) : {};
  return { loss: loss.type, config, data: plainData(data, loss, profile), forwardOnly: false };
}

/** What a server would reject late, or not notice. */
function checkDatum(
  { policy, prompt, continuations }: Datum,
  { info, critic }: TrainedPolicy,
  loss: Loss | undefined,
): void {
  if (loss !== undefined && (loss.type === "value") !== critic)
    throw new TroupeError(
      "bad_arguments",
      `${policy} is ${critic ? "a" : "no"} critic; ${loss.type} is not its loss.`,
    );
  if (continuations.length === 0)
    throw new TroupeError("bad_shape", `Data of ${policy} have no continuations.`);
  for (const tokens of [prompt, ...continuations.map((each) => each.tokens)]) {
    if (tokens.length === 0) throw new TroupeError("bad_shape", `Data of ${policy} have no tokens.`);
    checkIds(tokens, info, "Data");
  }
  const longest = prompt.length + Math.max(...continuations.map(({ tokens }) => tokens.length));
  if (longest > info.maxLength)
    throw new TroupeError("too_long", `${longest} tokens are more than the ${info.maxLength} of ${policy}.`);
}

/** Signs of numbers, which servers do not check. */
export function checkNumbers(adam: AdamOptions): void {
  for (const [name, value] of Object.entries(adam))
    if (!(value >= 0) || !Number.isFinite(value))
      throw new TroupeError(
        "bad_arguments",
        `${name} of the optimizer is ${value}; expected a number of at least 0.`,
      );
}

export function checkIds(tokens: Int32Array, { name, vocabularySize }: PolicyInfo, what: string): void {
  const bad = tokens.find((id) => id < 0 || id >= vocabularySize);
  if (bad !== undefined)
    throw new TroupeError("bad_token", `${what} has the token ${bad}; ${name} has ${vocabularySize} tokens.`);
}
