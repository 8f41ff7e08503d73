/**
 * An engine without a model, for tests of what stands on top of one: a pure function writes the actions. It keeps the
 * real engine's promises that the sampler depends on: sequence i depends on the request and its seed alone.
 */
import { setTimeout as delay } from "node:timers/promises";
import type { Engine, SampleRequest, SampledSequence } from "../../engines/engine.ts";
import { TroupeError } from "../../errors.ts";
import { drawInt, generatorOf, rootKey } from "../../random.ts";
import type { Tokenizer } from "../../text/tokenizer.ts";

/** Text of sequence `index` of a request whose prompt reads `prompt`. */
export type Script = (request: SampleRequest, index: number, prompt: string) => string;

export interface ScriptedEngine extends Pick<Engine, "sample"> {
  readonly requests: readonly SampleRequest[];
}

/**
 * Writes what the script says and ends with the tokenizer's end token; every log-probability is −1. `maxDelay` in
 * milliseconds makes answers come back in an order that has nothing to do with that of the requests.
 */
export function scriptedEngine(tokenizer: Tokenizer, script: Script, maxDelay = 0): ScriptedEngine {
  const requests: SampleRequest[] = [];
  const sample: Engine["sample"] = async (request, options) => {
    requests.push(request);
    if (maxDelay > 0) await delay(drawInt(generatorOf(rootKey(requests.length)), maxDelay));
    if (options?.signal?.aborted === true) throw new TroupeError("cancelled", "sampling was cancelled");
    const prompt = tokenizer.decode(request.prompt);
    return Array.from({ length: request.count }, (_, index) =>
      sequence(tokenizer, request, script(request, index, prompt)),
    );
  };
  return { requests, sample };
}

function sequence(tokenizer: Tokenizer, request: SampleRequest, text: string): SampledSequence {
  const whole = [...tokenizer.encode(text), ...tokenizer.endTokens.slice(0, 1)];
  const tokens = Int32Array.from(whole.slice(0, request.maxTokens));
  const stopReason = tokens.length < whole.length ? "length" : "stop";
  return { tokens, logprobs: new Float32Array(tokens.length).fill(-1), stopReason, policyVersion: 0 };
}
