import * as fc from "fast-check";
import { beforeAll, describe, expect, test } from "vitest";
import type { RetryOptions } from "../calls/retry.ts";
import { withServicesUsed } from "../calls/services.ts";
import { ServiceError, TroupeError } from "../errors.ts";
import { failure, makeModel, temporaryFolder } from "../models/test-model.ts";
import type { Datum, Engine, SampledSequence } from "./engine.ts";
import { adam, request as oneRequest } from "./local/test-engine.ts";
import { openEngine } from "./open.ts";
import { retryingEngine, type Verb } from "./retrying.ts";
import { faultyEngine, TinyEngine } from "./testing/tiny-engine.ts";

const folder = temporaryFolder();
let model = "";
beforeAll(async () => {
  model = await makeModel(folder, "model");
});

const patient: RetryOptions = {
  retries: 200,
  firstDelay: 0,
  longestDelay: 0,
  sleep: () => Promise.resolve(),
};

function dataOf(policy: string, sequences: readonly SampledSequence[]): Datum {
  const continuations = sequences.map(({ tokens, logprobs }, index) => ({
    tokens,
    logprobs,
    advantages: new Float32Array(tokens.length).fill(index % 2 === 0 ? 1 : -0.5),
  }));
  return { policy, prompt: Int32Array.of(4, 6), continuations };
}

const request = (policy: string, seed: number) =>
  oneRequest({ policy, prompt: Int32Array.of(4, 6), count: 2, maxTokens: 4, seed });

/** Trains two policies and a critic concurrently on their own samples; returns all results and the weights. */
async function trained(engine: Engine, name: string): Promise<unknown> {
  const answers: unknown[] = [];
  const policies = ["p", "q"];
  for (const policy of policies) await engine.createPolicy({ name: policy, model });
  for (let step = 0; step < 3; step++) {
    const updates = policies.map(async (policy) => {
      const sequences = await engine.sample(request(policy, step));
      const data = [dataOf(policy, sequences)];
      // Submitted at once: two gradient calls and their step, with a sample of the version before and one of the next.
      return Promise.all([
        engine.sample(request(policy, step + 10)),
        engine.forwardBackward(data, { type: "importance_sampling" }),
        engine.forwardBackward(data, { type: "ppo", clipLow: 0.2, clipHigh: 0.2 }),
        engine.optimStep(policy, adam),
        engine.sample(request(policy, step + 10)),
      ]);
    });
    answers.push(await Promise.all(updates));
  }
  for (const policy of policies) {
    const saved = await engine.checkpoint(policy, { folder, name: `${name}-${policy}` });
    await engine.restore(policy, { saved, folder });
    answers.push(
      saved.version,
      await engine.forward([dataOf(policy, await engine.sample(request(policy, 99)))]),
    );
  }
  await engine.close();
  return answers;
}

const failed = new Set<Verb>();

const onFailure = (verb: Verb) => failed.add(verb);

test("with a fifth of all calls failing, training ends with the same weights, bit for bit", async () => {
  const expected = await trained(new TinyEngine(), "whole");
  await fc.assert(
    fc.asyncProperty(fc.nat(1000), async (seed) => {
      const faulty = faultyEngine(new TinyEngine(), { seed, failing: 0.2, delay: 3, onFailure });
      expect(await trained(retryingEngine(faulty, patient), `faulty-${seed}`)).toEqual(expected);
    }),
    { numRuns: 20 },
  );
  const verbs = "createPolicy sample forward forwardBackward optimStep checkpoint restore".split(" ");
  expect([...failed]).toEqual(expect.arrayContaining(verbs));
});

test("without retries, such training fails, and verbs after the failed one have no effect", async () => {
  const inner = new TinyEngine();
  await inner.createPolicy({ name: "p", model });
  const [sequence] = await inner.sample(request("p", 1));
  const data = [dataOf("p", sequence === undefined ? [] : [sequence])];
  const faulty = faultyEngine(inner, { failing: 1 });
  const gradients = faulty.forwardBackward(data, { type: "importance_sampling" });
  const update = faulty.optimStep("p", adam);
  await failure("service", () => gradients);
  expect(await failure("service", () => update)).toContain("connection was lost");
  expect((await inner.sample(request("p", 1)))[0]).toEqual(sequence);
});

function fiveRetries(sleeps: number[]): RetryOptions {
  const sleep = async (milliseconds: number): Promise<void> => void sleeps.push(milliseconds);
  return { retries: 5, firstDelay: 10, longestDelay: 50, sleep };
}

describe("a verb that keeps failing", () => {
  /** Only sampling fails, every time. */
  class Lame extends TinyEngine {
    calls = 0;
    readonly error: TroupeError;
    constructor(error: TroupeError) {
      super();
      this.error = error;
    }
    override sample(): Promise<SampledSequence[]> {
      this.calls += 1;
      return Promise.reject(this.error);
    }
  }

  test("is retried with delays that double up to the limit, then throws", async () => {
    const [sleeps, lame] = [[] as number[], new Lame(new ServiceError("busy"))];
    const engine = retryingEngine(lame, fiveRetries(sleeps));
    expect(await failure("service", () => engine.sample(request("p", 1)))).toBe("busy");
    expect(lame.calls).toBe(6);
    expect(sleeps).toEqual([10, 20, 40, 50, 50]);
  });

  test("is not retried after another kind of failure", async () => {
    const [sleeps, lame] = [[] as number[], new Lame(new TroupeError("too_long", "too long"))];
    await failure("too_long", () => retryingEngine(lame, fiveRetries(sleeps)).sample(request("p", 1)));
    expect([lame.calls, sleeps]).toEqual([1, []]);
  });

  test("is not retried once its signal is aborted", async () => {
    const [controller, lame] = [new AbortController(), new Lame(new ServiceError("busy"))];
    const sleep = async (): Promise<void> => controller.abort();
    const engine = retryingEngine(lame, { ...fiveRetries([]), sleep });
    const { signal } = controller;
    await failure("cancelled", () => engine.sample(request("p", 1), { signal }));
    expect(lame.calls).toBe(2);
  });
});

test("an engine that retries itself is not wrapped", async () => {
  const local = openEngine({ threads: 1 });
  expect(retryingEngine(local)).toBe(local);
  const wrapped = retryingEngine(new TinyEngine());
  expect(retryingEngine(wrapped)).toBe(wrapped);
  await local.close();
});

test("verbs of an engine that retries by itself are counted, and not held back", async () => {
  const started: string[] = [];
  const done = Promise.withResolvers<void>();
  const verb = (name: string) => async () => {
    started.push(name);
    await done.promise;
    if (name === "optimStep") throw new ServiceError("gone");
    return {};
  };
  const verbs = { forwardBackward: verb("forwardBackward"), optimStep: verb("optimStep") };
  const remote = { retries: true, load: [], ...verbs };
  const engine = retryingEngine(remote as unknown as Engine);
  const { services } = await withServicesUsed(async () => {
    const results = [engine.forwardBackward([], { type: "cross_entropy" }), engine.optimStep("p", adam)];
    expect(started).toEqual(["forwardBackward", "optimStep"]);
    done.resolve();
    await Promise.allSettled(results);
  });
  expect(services).toEqual({
    engine: expect.objectContaining({ calls: 2, failures: 1, lastProblem: "gone" }),
  });
});
