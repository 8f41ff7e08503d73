/** An engine that computes nothing: it answers after sampled latencies, as a cluster of servers would. */
import { setTimeout as delay } from "node:timers/promises";
import type { Engine, SampledSequence, SampleRequest } from "../src/engines/engine.ts";
import { drawFloat, drawInt, generatorOf, keyAt, rootKey } from "../src/random.ts";

export interface Latency {
  /** Seconds until the first token. */
  readonly first: number;
  /** Tokens per second of one sequence. */
  readonly speed: number;
}

/** Replies are words of the vocabulary, half to one and a half times as long as `tokens`. No latency: at once. */
export function simulatedEngine(
  { vocabularySize, tokens, end }: { vocabularySize: number; tokens: number; end: number },
  latency: Latency | null,
): Pick<Engine, "sample"> & { readonly most: () => number } {
  let running = 0;
  let most = 0;
  const sequence = (seed: number, index: number): SampledSequence => {
    const generator = generatorOf(keyAt(rootKey(seed), index));
    const length = Math.round(tokens * (0.5 + drawFloat(generator)));
    const start = 6 + drawInt(generator, vocabularySize - 6);
    const words = Int32Array.from({ length }, (_, at) => 6 + ((start + at) % (vocabularySize - 6)));
    words[length - 1] = end;
    return {
      tokens: words,
      logprobs: new Float32Array(length).fill(-1),
      stopReason: "stop",
      policyVersion: 0,
    };
  };
  return {
    most: () => most,
    async sample({ seed, count }: SampleRequest) {
      running += 1;
      most = Math.max(most, running);
      const sequences = Array.from({ length: count }, (_, index) => sequence(seed, index));
      const longest = Math.max(...sequences.map((each) => each.tokens.length));
      if (latency !== null) await delay(1000 * (latency.first + longest / latency.speed));
      running -= 1;
      return sequences;
    },
  };
}
