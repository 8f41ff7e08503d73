/** Sampling: what a seed determines, what log-probabilities mean, where a sequence ends. */
import type { Engine, PolicyInfo, SampledSequence } from "../engine.ts";
import {
  allNear,
  differs,
  equal,
  fails,
  holds,
  ids,
  near,
  request,
  withPolicy,
  type Check,
} from "./setting.ts";

export const sameSeed: Check = (setting) =>
  withPolicy(setting, async (engine, info) => {
    const first = await engine.sample(request(info));
    equal(await engine.sample(request(info)), first, "the same request again");
    const other = await engine.sample(request(info, { seed: 6 }));
    differs(other.map(tokensOf), first.map(tokensOf), "another seed gives other tokens");
    await withPolicy(setting, async (again) => {
      equal(await again.sample(request(info)), first, "the same request of another engine");
    });
  });

export const ownSeed: Check = (setting) =>
  withPolicy(setting, async (engine, info) => {
    const many = await engine.sample(request(info, { count: 5 }));
    const requests = [0, 1, 2, 3].map((seed) =>
      engine.sample(request(info, { seed, prompt: ids(info, 5, seed) })),
    );
    const few = engine.sample(request(info, { count: 2 }));
    equal(await few, many.slice(0, 2), "the first two of five, sampled beside other requests");
    await Promise.all(requests);
    const short = await engine.sample(request(info, { count: 5, maxTokens: 2 }));
    equal(
      short.map(tokensOf),
      many.map(({ tokens }) => Array.from(tokens.subarray(0, 2))),
      "sequences cut after two tokens",
    );
  });

export const sameLogprobs: Check = (setting) =>
  withPolicy(setting, async (engine, info) => {
    for (const more of [{}, { temperature: 0.5, topP: 0.9 }, { temperature: 0 }]) {
      const asked = request(info, { count: 4, ...more });
      const sequences = await engine.sample(asked);
      const continuations = sequences.map(({ tokens }) => ({ tokens }));
      const { logprobs } = await engine.forward([{ policy: "p", prompt: asked.prompt, continuations }]);
      sequences.forEach((sequence, index) =>
        allNear([...sequence.logprobs], [...(logprobs[index] ?? [])], setting.tolerance, "log-probabilities"),
      );
    }
  });

/** The distribution of the next token, by `forward`. */
async function distribution(
  engine: Engine,
  info: PolicyInfo,
  prompt: Int32Array,
): Promise<readonly number[]> {
  const continuations = Array.from({ length: info.vocabularySize }, (_, id) => ({
    tokens: Int32Array.of(id),
  }));
  const { logprobs } = await engine.forward([{ policy: "p", prompt, continuations }]);
  return logprobs.map(([logprob]) => Math.exp(logprob ?? Number.NaN));
}

export const entropies: Check = (setting) =>
  withPolicy(setting, async (engine, info) => {
    for (const more of [{}, { temperature: 0.5, topP: 0.9 }, { temperature: 0 }]) {
      const asked = request(info, { count: 2, maxTokens: 2, ...more });
      for (const { tokens, entropies: told } of await engine.sample(asked)) {
        // Not measured.
        if (told === undefined) continue;
        const found: number[] = [];
        for (const place of tokens.keys()) {
          const before = Int32Array.of(...asked.prompt, ...tokens.subarray(0, place));
          found.push(entropyOf(await distribution(engine, info, before)));
        }
        allNear([...told], found, 10 * setting.tolerance, "entropies");
      }
    }
  });

const entropyOf = (shares: readonly number[]): number =>
  shares.reduce((sum, share) => sum - (share > 0 ? share * Math.log(share) : 0), 0);

export const frequencies: Check = (setting) =>
  withPolicy(setting, async (engine, info) => {
    const { prompt } = request(info);
    const shares = await distribution(engine, info, prompt);
    near(
      shares.reduce((sum, share) => sum + share, 0),
      1,
      10 * setting.tolerance,
      "the sum of all probabilities",
    );
    for (const temperature of [1, 0.5]) {
      const sharpened = shares.map((share) => share ** (1 / temperature));
      const total = sharpened.reduce((sum, share) => sum + share, 0);
      const sampled = await engine.sample(request(info, { count: 3000, maxTokens: 1, temperature }));
      sharpened.forEach((share, id) => isFrequent(sampled, id, share / total));
    }
  });

/** Within five standard errors. */
function isFrequent(sampled: readonly SampledSequence[], id: number, share: number): void {
  const count = sampled.length;
  const found = sampled.filter(({ tokens }) => tokens[0] === id).length / count;
  const bound = 5 * Math.sqrt((share * (1 - share)) / count) + 2 / count;
  holds(
    Math.abs(found - share) < bound,
    `token ${id} was sampled with frequency ${found}; its share is ${share}`,
  );
}

export const greedy: Check = (setting) =>
  withPolicy(setting, async (engine, info) => {
    const { prompt } = request(info);
    const shares = await distribution(engine, info, prompt);
    const best = shares.indexOf(Math.max(...shares));
    const sequences = await engine.sample(request(info, { temperature: 0 }));
    for (const { tokens } of sequences) equal(tokens[0], best, "the most probable token, at temperature 0");
    equal(
      new Set(sequences.map((each) => tokensOf(each).join())).size,
      1,
      "different sequences at temperature 0",
    );
    if (!engine.capabilities.topK) return;
    const [one] = await engine.sample(request(info, { topK: 1, count: 1 }));
    equal(
      one === undefined ? [] : tokensOf(one),
      tokensOf(sequences[0] as SampledSequence),
      "top-k of 1 is greedy",
    );
  });

export const nucleus: Check = (setting) =>
  withPolicy(setting, async (engine, info) => {
    const { prompt } = request(info);
    const shares = await distribution(engine, info, prompt);
    const topP = Math.max(...shares) * 0.9;
    const sampled = await engine.sample(request(info, { count: 50, maxTokens: 1, topP }));
    const best = shares.indexOf(Math.max(...shares));
    for (const { tokens } of sampled)
      equal(tokens[0], best, "with a top-p below its share, only the most probable token");
  });

export const limits: Check = (setting) =>
  withPolicy(setting, async (engine, info) => {
    for (const { tokens, logprobs, stopReason } of await engine.sample(request(info))) {
      equal([tokens.length, logprobs.length, stopReason], [6, 6, "length"], "a sequence of maxTokens");
    }
    const room = 2;
    const prompt = ids(info, info.maxLength - room);
    const [sequence] = await engine.sample(request(info, { prompt, count: 1 }));
    equal(
      [sequence?.tokens.length, sequence?.stopReason],
      [room, "length"],
      "a sequence up to the model's limit",
    );
    const full = request(info, { prompt: ids(info, info.maxLength) });
    await fails("too_long", () => engine.sample(full), "a prompt that fills the model");
  });

export const stopTokens: Check = (setting) =>
  withPolicy(setting, async (engine, info) => {
    const free = await engine.sample(request(info, { count: 8 }));
    const stop = free[0]?.tokens[1] ?? 0;
    const stopped = await engine.sample(request(info, { count: 8, stopTokens: [stop] }));
    stopped.forEach((sequence, index) => {
      const whole = tokensOf(free[index] as SampledSequence);
      const at = whole.indexOf(stop);
      const [expected, reason] = at === -1 ? [whole, "length"] : [whole.slice(0, at + 1), "stop"];
      equal(
        [tokensOf(sequence), sequence.stopReason],
        [expected, reason],
        "ends with the stop token, which is kept",
      );
    });
  });

export const stopText: Check = (setting) =>
  withPolicy(setting, async (engine, info) => {
    const { token, text } = setting.stop ?? { token: 0, text: "x" };
    const asked = request(info, { count: 40, maxTokens: 12 });
    if (!engine.capabilities.stopStrings)
      return fails("unsupported", () => engine.sample({ ...asked, stopStrings: [text] }), "a stop text");
    if (setting.stop === null) return;
    const free = await engine.sample(asked);
    const stopped = await engine.sample({ ...asked, stopStrings: [text] });
    const found = stopped.map((sequence) => sequence.stopReason === "stop");
    equal(
      found,
      free.map(({ tokens }) => tokens.includes(token)),
      "which sequences a stop text ends",
    );
    holds(
      found.includes(true) && found.includes(false),
      "the stop text occurs in some sequences, not in all",
    );
    stopped.forEach(({ tokens, stopReason }) => {
      const at = tokens.indexOf(token);
      equal(
        at,
        stopReason === "stop" ? tokens.length - 1 : -1,
        "ends with the token of the text, which is kept",
      );
    });
  });

function tokensOf({ tokens }: SampledSequence): number[] {
  return [...tokens];
}
