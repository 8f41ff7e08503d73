/** Sampling requests and their results, between the verbs and the native engine. */
import { TroupeError } from "../../errors.ts";
import type { SampledSequence, SampleRequest } from "../engine.ts";
import { checkTokens } from "./batch.ts";
import type { NativeSampleRequest, NativeSamples } from "./native.ts";

/** Defaults filled in; what the native engine does not check is checked here. */
export function nativeRequest(request: SampleRequest): NativeSampleRequest {
  checkTokens(request.prompt, "prompt");
  const { policy, prompt, count, maxTokens, temperature, seed } = request;
  const stopTokens = request.stopTokens ?? [];
  const unusable = stopTokens.find((id) => !Number.isSafeInteger(id) || id < 0 || id >= 2 ** 31);
  if (unusable !== undefined)
    throw new TroupeError("bad_token", `stopTokens has ${unusable}; expected token ids.`);
  return {
    ...{ policy, prompt, count, maxTokens, temperature, seed },
    topK: request.topK ?? 0,
    topP: request.topP ?? 1,
    stopTokens: Int32Array.from(stopTokens),
    stopStrings: request.stopStrings ?? [],
  };
}

export function sampledSequences(samples: NativeSamples): SampledSequence[] {
  let at = 0;
  return Array.from(samples.lengths, (length, i) => {
    at += length;
    return {
      tokens: samples.tokens.slice(at - length, at),
      logprobs: samples.logprobs.slice(at - length, at),
      stopReason: samples.stopped[i] === 1 ? "stop" : "length",
    };
  });
}
