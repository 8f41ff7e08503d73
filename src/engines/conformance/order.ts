/** The order of verbs, and errors: what cannot be done, and what failed, takes no effect. */
import type { ErrorCode } from "../../errors.ts";
import type { Engine, PolicyInfo, SampledSequence, Loss } from "../engine.ts";
import {
  adam,
  crossEntropy,
  datum,
  differs,
  equal,
  fails,
  hasNoGradient,
  holds,
  outputs,
  request,
  train,
  withNumbers,
  withPolicy,
  ids,
  type Check,
} from "./setting.ts";

/** Three rounds of samples and steps, awaited one by one or all at the end. */
async function rounds(
  engine: Engine,
  info: PolicyInfo,
  isAwaited: boolean,
): Promise<readonly SampledSequence[][]> {
  const sampled: Promise<SampledSequence[]>[] = [];
  const trained: Promise<unknown>[] = [];
  for (let round = 0; round < 3; round++) {
    sampled.push(engine.sample(request(info, { seed: round })));
    if (isAwaited) await sampled.at(-1);
    trained.push(engine.forwardBackward([datum(info, round)], crossEntropy));
    if (isAwaited) await trained.at(-1);
    trained.push(engine.optimStep("p", adam));
    if (isAwaited) await trained.at(-1);
  }
  await Promise.all(trained);
  return Promise.all(sampled);
}

export const inOrder: Check = async (setting) => {
  const apart = await withPolicy(setting, (engine, info) => rounds(engine, info, true));
  const together = await withPolicy(setting, (engine, info) => rounds(engine, info, false));
  equal(together, apart, "what was submitted at once, and what was awaited one by one");
  equal(
    apart.map((sequences) => sequences[0]?.policyVersion),
    [0, 1, 2],
    "the versions of the samples",
  );
};

export const failedBefore: Check = (setting) =>
  withPolicy(setting, async (engine, info) => {
    await train(engine, info, 1);
    const before = await outputs(engine, info);
    const bad = withNumbers(datum(info), ({ tokens }) => ({ tokens: tokens.map(() => info.vocabularySize) }));
    const failed = engine.forwardBackward([bad], crossEntropy);
    const behind = [
      engine.optimStep("p", adam),
      engine.forwardBackward([datum(info)], crossEntropy),
      engine.sample(request(info)),
      engine.optimStep("p", adam),
    ];
    const settled = await Promise.allSettled(behind);
    await fails("bad_token", () => failed, "gradients of a token that is none");
    for (const [index, each] of behind.entries())
      await fails("bad_token", () => each, `the verb behind it, ${index + 1} of ${settled.length}`);
    equal(await outputs(engine, info), before, "the policy after a failed verb");
    equal((await engine.sample(request(info, { count: 1 })))[0]?.policyVersion, 1, "its version");
    const [result] = await train(engine, info, 1);
    holds(Number.isFinite(result?.loss), "the policy takes verbs again");
    differs(await outputs(engine, info), before, "and learns");
  });

export const failedRead: Check = (setting) =>
  withPolicy(setting, async (engine, info) => {
    const failed = engine.sample(request(info, { maxTokens: 0 }));
    const trained = train(engine, info, 1);
    await fails("bad_arguments", () => failed, "no tokens");
    holds(Number.isFinite((await trained)[0]?.loss), "a failed sample fails nothing behind it");
  });

export const gradientsKept: Check = (setting) =>
  withPolicy(setting, async (engine, info) => {
    await engine.createPolicy({ name: "q", model: setting.model });
    await engine.forwardBackward([datum(info)], crossEntropy);
    await fails("bad_arguments", () => engine.forwardBackward([], crossEntropy), "no data");
    const empty = withNumbers(datum(info), () => ({
      tokens: new Int32Array(0),
      weights: new Float32Array(0),
    }));
    await fails(
      "bad_shape",
      () => engine.forwardBackward([datum(info, 1), empty], crossEntropy),
      "an empty continuation",
    );
    await engine.forwardBackward([datum(info, 0, "q")], crossEntropy);
    equal(
      await engine.optimStep("p", adam),
      await engine.optimStep("q", adam),
      "gradients after a rejected call",
    );
  });

export const cancelled: Check = (setting) =>
  withPolicy(setting, async (engine, info) => {
    const signal = AbortSignal.abort();
    const before = await engine.sample(request(info));
    await fails(
      "cancelled",
      () => engine.sample(request(info), { signal }),
      "sampling with an aborted signal",
    );
    await fails(
      "cancelled",
      () => engine.forward([datum(info)], { signal }),
      "forward with an aborted signal",
    );
    const gradients = () => engine.forwardBackward([datum(info)], crossEntropy, { signal });
    await fails("cancelled", gradients, "gradients with an aborted signal");
    await hasNoGradient(engine, "after a cancelled call");
    const controller = new AbortController();
    const doomed = Array.from({ length: 4 }, (_, seed) =>
      engine.sample(request(info, { seed, count: 50, maxTokens: 20 }), { signal: controller.signal }),
    );
    const beside = engine.sample(request(info));
    controller.abort();
    for (const each of await Promise.allSettled(doomed)) {
      // A call that ended before the signal has its result.
      if (each.status === "rejected")
        await fails("cancelled", () => Promise.reject(each.reason), "cancelled sampling");
    }
    equal(
      (await beside).map(({ tokens }) => tokens),
      before.map(({ tokens }) => tokens),
      "sampling beside it",
    );
  });

export const closed: Check = async (setting) => {
  const engine = await setting.open();
  const info = await engine.createPolicy({ name: "p", model: setting.model });
  await engine.close();
  await fails("bad_arguments", () => engine.sample(request(info)), "sampling from a closed engine");
  await fails("bad_arguments", () => engine.optimStep("p", adam), "a step of a closed engine");
  await engine.close();
};

type Case = readonly [what: string, code: ErrorCode, work: () => Promise<unknown>];

function requests(engine: Engine, info: PolicyInfo): readonly Case[] {
  const sample = (more: object) => () => engine.sample({ ...request(info), ...more });
  return [
    ["an unknown policy", "bad_arguments", sample({ policy: "nobody" })],
    ["a token beyond the vocabulary", "bad_token", sample({ prompt: Int32Array.of(1, info.vocabularySize) })],
    ["a negative token", "bad_token", sample({ prompt: Int32Array.of(-1) })],
    ["a stop token that is no id", "bad_token", sample({ stopTokens: [-1] })],
    ["a prompt of plain numbers", "bad_arguments", sample({ prompt: [1, 2] })],
    ["an empty prompt", "bad_shape", sample({ prompt: new Int32Array(0) })],
    ["no sequences", "bad_arguments", sample({ count: 0 })],
    ["half a sequence", "bad_arguments", sample({ count: 1.5 })],
    ["no tokens", "bad_arguments", sample({ maxTokens: 0 })],
    ["a temperature below zero", "bad_arguments", sample({ temperature: -1 })],
    ["a temperature that is not a number", "bad_arguments", sample({ temperature: Number.NaN })],
    ["a top-p of 0", "bad_arguments", sample({ topP: 0 })],
    ["a seed below zero", "bad_arguments", sample({ seed: -1 })],
  ];
}

function data(engine: Engine, info: PolicyInfo): readonly Case[] {
  const base = datum(info);
  const forward = (more: object) => () => engine.forward([{ ...base, ...more }]);
  const gradients = (change: object, loss: Loss) => () =>
    engine.forwardBackward([withNumbers(base, () => change)], loss);
  const sampling: Loss = { type: "importance_sampling" };
  return [
    ["data of an unknown policy", "bad_arguments", forward({ policy: "nobody" })],
    ["no data", "bad_arguments", () => engine.forward([])],
    ["an empty prompt in data", "bad_shape", forward({ prompt: new Int32Array(0) })],
    ["no continuations", "bad_shape", forward({ continuations: [] })],
    [
      "a token beyond the vocabulary in data",
      "bad_token",
      forward({ prompt: Int32Array.of(info.vocabularySize) }),
    ],
    ["a sequence that is too long", "too_long", forward({ prompt: ids(info, info.maxLength) })],
    ["missing advantages", "bad_arguments", gradients({ advantages: undefined }, sampling)],
    ["too few advantages", "bad_shape", gradients({ advantages: Float32Array.of(1) }, sampling)],
    ["advantages of plain numbers", "bad_arguments", gradients({ advantages: [1, 1, 1] }, sampling)],
    ["too many weights", "bad_shape", gradients({ weights: new Float32Array(9) }, crossEntropy)],
    ["an unknown loss", "bad_arguments", gradients({}, { type: "unknown" } as never)],
  ];
}

function policies(engine: Engine, { model }: Parameters<Check>[0]): readonly Case[] {
  return [
    ["a policy without a name", "bad_arguments", () => engine.createPolicy({ name: "", model })],
    ["a policy without a model", "bad_arguments", () => engine.createPolicy({ name: "q" } as never)],
    ["removing nobody", "bad_arguments", () => engine.removePolicy("nobody")],
    ["a step of nobody", "bad_arguments", () => engine.optimStep("nobody", adam)],
    ["a negative learning rate", "bad_arguments", () => engine.optimStep("p", { ...adam, learningRate: -1 })],
    ["saving nobody", "bad_arguments", () => engine.snapshot("nobody", { folder: "nowhere", name: "x" })],
  ];
}

export const errors: Check = (setting) =>
  withPolicy(setting, async (engine, info) => {
    const before = await engine.sample(request(info));
    const cases = [...requests(engine, info), ...data(engine, info), ...policies(engine, setting)];
    for (const [what, code, work] of cases) await fails(code, work, what);
    equal(await engine.sample(request(info)), before, "sampling after all these errors");
  });
