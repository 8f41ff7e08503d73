/** Gradients and log-probabilities of one policy's data. */
import { TroupeError } from "../../errors.ts";
import type { Datum, Loss, LossResult } from "../engine.ts";
import type { RemoteModel } from "./client/model.ts";
import { arraysOf, lossResult } from "./loss-result.ts";
import { isNative, measured, plainData, surrogateData } from "./losses.ts";
import type { Profile } from "./profiles/profile.ts";
import { lossConfig, lossName } from "./protocol/loss-settings.ts";
import { wireData } from "./protocol/losses.ts";

export interface Work {
  readonly profile: Profile;
  readonly signal: AbortSignal | undefined;
  /** Called once the server has everything that changes the gradient. */
  readonly onSubmitted?: (() => void) | undefined;
}

/** Of one policy. */
export interface Pass extends Work {
  readonly model: RemoteModel;
  readonly critic: boolean;
}

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
  const request = { loss: loss.type, config: {}, data: plainData(data, loss, profile), forwardOnly: true };
  const outputs = await model.forwardBackward(request, {});
  return measured(data, undefined, arraysOf(data, outputs, "logprobs"));
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
