/** A client and a server with a bad network between them: the results are those of the engine in this process. */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { makeModel, temporaryFolder } from "../../models/test-model.ts";
import { drawFloat, generatorOf, keyAt, rootKey } from "../../random.ts";
import type { Engine, LossResult, SampledSequence } from "../engine.ts";
import type { LocalEngine } from "../local/local-engine.ts";
import { atEndOfFile } from "../../test-end.ts";
import { adam, request, someDatum, testEngine } from "../local/test-engine.ts";
import { startServing } from "../testing/serving.ts";
import { profiles } from "./profiles.ts";
import { localServer } from "./testing/own-server.ts";
import { startProxy, type Fault, type ProxyOptions } from "./testing/faulty-proxy.ts";
import { TinkerEngine } from "./tinker-engine.ts";

const folder = temporaryFolder();
const model = await makeModel(folder, "model");
const url = await localServer(model, join(folder, "server"), "model");

const atOnce = { firstDelay: 1, longestDelay: 20, timeoutMilliseconds: 20_000, pollMilliseconds: 30_000 };
/** A client behind a proxy. */
async function clientWith(options: Pick<ProxyOptions, "fault" | "rewrite">, target = url) {
  const proxy = await startProxy({ target, ...options });
  const engine = new TinkerEngine({ url: proxy.url, profile: profiles.troupe, requests: atOnce });
  atEndOfFile(async () => {
    await engine.close();
    proxy.close();
  });
  return { engine, proxy };
}

/** Its samples have no entropies, which the protocol does not tell. */
function localEngine(): LocalEngine {
  const engine = testEngine({ threads: 1 });
  const sample = engine.sample.bind(engine);
  engine.sample = async (...given) => {
    const sampled = await sample(...given);
    for (const each of sampled) Reflect.deleteProperty(each, "entropies");
    return sampled;
  };
  return engine;
}

interface Outcome {
  readonly sampled: readonly SampledSequence[][];
  readonly losses: readonly LossResult[];
  readonly norms: readonly (number | undefined)[];
  readonly after: readonly Float32Array[];
}

/** Rounds of samples, gradients of several data, and a step; everything that they return. */
async function train(engine: Engine, each: (engine: Engine) => Promise<LossResult[]>): Promise<Outcome> {
  await engine.createPolicy({ name: "p", model });
  const sampled: SampledSequence[][] = [];
  const losses: LossResult[] = [];
  const norms: (number | undefined)[] = [];
  for (let round = 0; round < 4; round++) {
    const samples = [0, 1, 2].map((index) => engine.sample(request({ seed: 3 * round + index, count: 2 })));
    sampled.push(...(await Promise.all(samples)));
    losses.push(...(await each(engine)));
    norms.push((await engine.optimStep("p", adam)).gradientNorm);
  }
  return { sampled, losses, norms, after: (await engine.forward([someDatum("p")])).logprobs };
}

const data = [0, 1, 2].map((shift) => someDatum("p", shift));
const whole = async (engine: Engine): Promise<LossResult[]> => [
  await engine.forwardBackward(data, { type: "ppo", clipLow: 0.2, clipHigh: 0.3 }),
];

const faults: readonly Fault[] = [
  "lose request",
  "lose answer",
  { status: 408 },
  { status: 429 },
  { status: 500 },
  { status: 503 },
  { milliseconds: 30 },
];
const ofResults: readonly Fault[] = [...faults, { status: 410 }, { status: 400 }];

it.each([1, 2])("through lost, late and failed requests and answers, with seed %i", async (seed) => {
  const expected = await train(localEngine(), whole);
  const { engine, proxy } = await clientWith({
    fault: (path, index) => {
      const generator = generatorOf(keyAt(rootKey(seed), path, index));
      if (drawFloat(generator) >= 0.4) return null;
      const all = path === "retrieve_future" ? ofResults : faults;
      // A session that nobody knows of is ended by the server in time.
      if (path === "create_session" || path === "client/config") return null;
      return all[Math.floor(drawFloat(generator) * all.length)] ?? null;
    },
  });
  expect(await train(engine, whole)).toEqual(expected);
  expect(proxy.faults()).toBeGreaterThan(10);
});

it("with chunks that arrive in any order", async () => {
  const loss = { type: "importance_sampling" } as const;
  const expected = await train(localEngine(), async (engine) => {
    const apart: LossResult[] = [];
    for (const datum of data) {
      for (const continuation of datum.continuations)
        apart.push(await engine.forwardBackward([{ ...datum, continuations: [continuation] }], loss));
    }
    return apart;
  });
  const { engine } = await clientWith({
    fault: (path, index) =>
      path === "forward_backward" ? { milliseconds: [60, 0, 30, 10, 40, 20][index % 6] ?? 0 } : null,
    rewrite: (path, answer) => (path === "client/config" ? { ...answer, fwdbwd_max_chunk_len: 1 } : answer),
  });
  const found = await train(engine, async (each) => [await each.forwardBackward(data, loss)]);
  expect({ ...found, losses: [] }).toEqual({ ...expected, losses: [] });
  expect(found.losses.flatMap(({ logprobs }) => logprobs)).toEqual(
    expected.losses.flatMap(({ logprobs }) => logprobs),
  );
});

it("gradients, steps and the weights to sample from are submitted without waiting for results", async () => {
  const submitted: string[] = [];
  let isHolding = false;
  const { engine } = await clientWith({
    fault: (path) => {
      if (path !== "retrieve_future") submitted.push(path);
      const isComplete = submitted.filter((each) => each === "save_weights_for_sampler").length === 2;
      return isHolding && path === "retrieve_future" && !isComplete ? { status: 408 } : null;
    },
  });
  const local = localEngine();
  const minibatches = async (each: Engine) => {
    await each.createPolicy({ name: "p", model });
    await each.sample(request({}));
    isHolding = true;
    const steps = [0, 1].flatMap(() => [each.forwardBackward(data, loss), each.optimStep("p", adam)]);
    return [...(await Promise.all(steps)), await each.sample(request({ seed: 5 }))];
  };
  const loss = { type: "importance_sampling" } as const;
  const expected = await minibatches(local);
  isHolding = false;
  expect(await minibatches(engine)).toEqual(expected);
  const training = submitted.slice(submitted.indexOf("forward_backward"));
  expect(training.filter((path) => /forward|step|save/.test(path))).toEqual([
    "forward_backward",
    "optim_step",
    "forward_backward",
    "optim_step",
    "save_weights_for_sampler",
  ]);
});

it("a server that keeps losing a result fails the verb, and the policy until it is restored", async () => {
  let isLosing = false;
  const { engine } = await clientWith({
    fault: (path) => (isLosing && path === "retrieve_future" ? { status: 410 } : null),
  });
  await engine.createPolicy({ name: "p", model });
  isLosing = true;
  await expect(whole(engine)).rejects.toMatchObject({ code: "service" });
  isLosing = false;
  await expect(engine.optimStep("p", adam)).rejects.toThrow(/state at the server is unknown/);
});

it.each(["forwardBackward", "optimStep"] as const)(
  "a key that is rejected while the result of %s is awaited leaves open what was executed",
  async (verb) => {
    let isRejecting = false;
    const { engine } = await clientWith({
      fault: (path) => (isRejecting && path === "retrieve_future" ? { status: 401 } : null),
    });
    await engine.createPolicy({ name: "p", model });
    isRejecting = true;
    const asked = verb === "optimStep" ? engine.optimStep("p", adam) : whole(engine);
    await expect(asked).rejects.toMatchObject({ code: "bad_arguments" });
    isRejecting = false;
    // Weights that may have had one step more than this engine counts are not saved, nor trained again.
    for (const next of [whole(engine), engine.checkpoint("p", { folder, name: "unknown" })])
      await expect(next).rejects.toThrow(/state at the server is unknown/);
  },
);

it("a step whose answer was lost, and that is rejected when it is sent again, may have been made", async () => {
  const { engine } = await clientWith({
    fault: (path, index) =>
      path === "optim_step" ? ((["lose answer", { status: 401 }] as const)[index] ?? null) : null,
  });
  await engine.createPolicy({ name: "p", model });
  await whole(engine);
  await expect(engine.optimStep("p", adam)).rejects.toMatchObject({ code: "bad_arguments" });
  await expect(whole(engine)).rejects.toThrow(/state at the server is unknown/);
});

const samples = (each: Engine) =>
  Promise.all([0, 1, 2].map((seed) => each.sample(request({ seed, count: 2 }))));

it("a key that is rejected while samples are awaited fails those, and no others", async () => {
  let isRejecting = true;
  const { engine } = await clientWith({
    fault: (path) =>
      isRejecting && path.startsWith("retrieve_future") && path !== "retrieve_future"
        ? { status: 401 }
        : null,
  });
  const { engine: undisturbed } = await clientWith({ fault: () => null });
  await undisturbed.createPolicy({ name: "p", model });
  await engine.createPolicy({ name: "p", model });
  const expected = await samples(undisturbed);
  expect(await samples(engine)).toEqual(expected);
  isRejecting = false;
  expect(await samples(engine)).toEqual(expected);
});

it("after pipelined steps that the server rejected, the policy goes on in the state and version before them", async () => {
  let rejected = 0;
  const { engine } = await clientWith({
    fault: (path) => (path === "optim_step" && rejected > 0 && rejected-- > 0 ? { status: 400 } : null),
  });
  const local = localEngine();
  for (const each of [engine, local]) await each.createPolicy({ name: "p", model });
  await engine.sample(request({}));
  rejected = 2;
  const piped = [whole(engine), engine.optimStep("p", adam), engine.optimStep("p", adam), whole(engine)];
  const found = await Promise.allSettled(piped);
  expect(found.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "rejected", "rejected"]);
  rejected = 0;
  await whole(local);
  const go = async (each: Engine) => [
    await each.optimStep("p", adam),
    await each.sample(request({ seed: 9 })),
    await whole(each),
    await each.optimStep("p", adam),
    await each.sample(request({ seed: 10 })),
  ];
  expect(await go(engine)).toEqual(await go(local));
});

it("after a restart in the middle of a step, training resumed from a checkpoint is the same", async () => {
  const served = join(folder, "served");
  mkdirSync(served);
  const straight = localEngine();
  await straight.createPolicy({ name: "p", model });
  const step = async (engine: Engine) => [await whole(engine), await engine.optimStep("p", adam)];
  await step(straight);
  const expected = [await step(straight), await step(straight)];

  const first = await startServing([model], { folder: served });
  const { engine } = await clientWith({ fault: () => null }, first.url);
  await engine.createPolicy({ name: "p", model });
  await step(engine);
  const saved = await engine.checkpoint("p", { folder, name: "p" });
  await whole(engine);
  await first.kill();
  const second = await startServing([model], { folder: served, port: Number(new URL(first.url).port) });
  atEndOfFile(() => second.stop());
  await expect(engine.optimStep("p", adam)).rejects.toMatchObject({ code: "service" });

  const { engine: again } = await clientWith({ fault: () => null }, second.url);
  await again.createPolicy({ name: "p", model });
  await again.restore("p", { saved, folder });
  expect([await step(again), await step(again)]).toEqual(expected);
});
