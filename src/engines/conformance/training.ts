/**
 * Training: values of losses, by the formulas of engine.ts, gradients as their derivatives, and the effect of a step.
 */
import type {
  Continuation,
  Datum,
  Engine,
  EngineCapabilities,
  Loss,
  LossResult,
  PolicyInfo,
  PolicyOptions,
  KlEstimator,
} from "../engine.ts";
import {
  adam,
  allNear,
  crossEntropy,
  datum,
  differs,
  equal,
  gradientNorm,
  hasNoGradient,
  holds,
  near,
  outputs,
  train,
  withNumbers,
  withPolicy,
  type Check,
  type Setting,
} from "./setting.ts";

const ppo = { type: "ppo", clipLow: 0.2, clipHigh: 0.3 } as const;
const cispo = { type: "cispo", clipLow: 0.2, clipHigh: 0.3 } as const;

/** Every loss of a policy, with every option, that the engine supports. */
function policyLosses({
  losses,
  klInLoss,
  sequenceRatio,
  dualClip,
  entropyInLoss,
}: EngineCapabilities): readonly Loss[] {
  const all: readonly Loss[] = [
    crossEntropy,
    { type: "importance_sampling" },
    ppo,
    cispo,
    ...(sequenceRatio ? [{ ...ppo, ratio: "sequence" } as const] : []),
    ...(dualClip ? [{ ...ppo, dualClip: 1.5 }] : []),
    ...(klInLoss
      ? (["k1", "k2", "k3"] as const).map((kl) => ({ type: "importance_sampling", kl }) as const)
      : []),
    ...(klInLoss ? [{ ...ppo, kl: "k3" } as const] : []),
    ...(entropyInLoss === true ? [{ type: "importance_sampling", entropy: 0.5 } as const] : []),
    ...(entropyInLoss === true ? [{ ...ppo, ratio: "sequence", entropy: -0.5 } as const] : []),
  ];
  return all.filter(({ type }) => losses.includes(type));
}

const valueLosses: readonly Loss[] = [{ type: "value" }, { type: "value", clip: 0.1 }];

/** Runs the check on every loss of a policy and of a critic, each with a fresh engine. */
async function eachLoss(
  setting: Setting,
  check: (engine: Engine, info: PolicyInfo, loss: Loss) => Promise<void>,
): Promise<void> {
  const capabilities = await withPolicy(setting, async (engine) => engine.capabilities);
  for (const loss of policyLosses(capabilities))
    await withPolicy(setting, (engine, info) => check(engine, info, loss));
  if (!capabilities.critic) return;
  for (const loss of valueLosses)
    await withPolicy(setting, (engine, info) => check(engine, info, loss), { valueHead: true });
}

export const sums: Check = (setting) =>
  eachLoss(setting, async (engine, info, loss) => {
    const data = [datum(info, 0), datum(info, 1)];
    await checkSums(setting, engine, { data, loss, tokens: 10, what: JSON.stringify(loss) });
    const masked = data.map((each) => withNumbers(each, withMask));
    await checkSums(setting, engine, { data: masked, loss, tokens: 6, what: `${loss.type} with a mask` });
  });

/** The last token of every continuation is not counted. */
function withMask({ tokens }: Continuation): Pick<Continuation, "mask"> {
  return { mask: Float32Array.from(tokens, (_, at) => (at === tokens.length - 1 ? 0 : 1)) };
}

interface Sums {
  readonly data: readonly Datum[];
  readonly loss: Loss;
  readonly tokens: number;
  readonly what: string;
}

async function checkSums(
  setting: Setting,
  engine: Engine,
  { data, loss, tokens, what }: Sums,
): Promise<void> {
  const result = await engine.forwardBackward(data, loss);
  const continuations = data.flatMap((each) => each.continuations);
  const found = loss.type === "value" ? (result.values ?? []) : result.logprobs;
  const expected = expectedSums(loss, continuations, found);
  if (!("entropy" in loss)) near(result.loss, expected.loss, setting.tolerance, `${what}: the loss`);
  near(result.kl, expected.kl, setting.tolerance, `${what}: kl`);
  equal(result.clipped, expected.clipped, `${what}: clipped tokens`);
  equal(result.tokens, tokens, `${what}: tokens`);
  if (result.entropy !== undefined) {
    const read = await engine.forward(data);
    equal(read.tokens, tokens, `${what}: tokens of forward`);
    near(read.entropy ?? Number.NaN, result.entropy, setting.tolerance, `${what}: the entropy of forward`);
  }
  if (result.referenceKl !== undefined)
    near(result.referenceKl, expected.referenceKl, setting.tolerance, `${what}: referenceKl`);
  equal(
    result.entropy === undefined,
    !engine.capabilities.entropy,
    `${what}: entropy, as the capabilities say`,
  );
  const plain = await engine.forward(data);
  for (const field of ["logprobs", "values"] as const)
    allNear(flat(plain[field]), flat(result[field]), setting.tolerance, `${what}: ${field} of forward`);
}

export const tops: Check = (setting) =>
  withPolicy(setting, async (engine, info) => {
    if (engine.capabilities.top !== true) return;
    const data = [datum(info, 0), datum(info, 1)];
    const { vocabularySize: all } = info;
    const { top: whole = [], logprobs } = await engine.forward(data, { top: all });
    const { top: few = [] } = await engine.forward(data, { top: 2 });
    const tokens = data.flatMap((each) => each.continuations.flatMap((one) => [...one.tokens]));
    const rows = whole.flatMap((each) =>
      [...each.tokens.keys()].filter((at) => at % all === 0).map((at) => [each, at] as const),
    );
    equal(rows.length, tokens.length, "rows of the most probable tokens");
    const own = rows.map(([row, at], index) => {
      const ids = row.tokens.subarray(at, at + all);
      const numbers = [...row.logprobs.subarray(at, at + all)];
      near(
        numbers.reduce((sum, each) => sum + Math.exp(each), 0),
        1,
        setting.tolerance,
        "the sum of all probabilities",
      );
      equal(String(numbers), String(numbers.toSorted((a, b) => b - a)), "log-probabilities in order");
      equal(new Set(ids).size, all, "different tokens");
      return numbers[ids.indexOf(tokens[index] ?? -1)] ?? Number.NaN;
    });
    allNear(own, flat(logprobs), setting.tolerance, "log-probabilities of the data's own tokens");
    const first = rows.flatMap(([row, at]) => [...row.tokens.subarray(at, at + 2)]);
    equal(String(few.flatMap((each) => [...each.tokens])), String(first), "the two most probable tokens");
  });

export const additive: Check = (setting) =>
  eachLoss(setting, async (engine, info, loss) => {
    const parts = [datum(info, 0), datum(info, 1), datum(info, 2)];
    const whole = await engine.forwardBackward(parts, loss);
    const apart: LossResult[] = [];
    for (const part of parts) apart.push(await engine.forwardBackward([part], loss));
    for (const field of ["loss", "tokens", "entropy", "kl", "referenceKl", "clipped"] as const) {
      const sum = apart.reduce((total, each) => total + (each[field] ?? 0), 0);
      near(whole[field] ?? 0, sum, setting.tolerance, `${JSON.stringify(loss)}: ${field} over data`);
    }
  });

/**
 * With an epsilon far above the gradient, Adam's step is proportional to g, with a factor η. The loss then changes by
 * −η·|g|² if g is its derivative; with two steps, η and 2η, the second-order term cancels.
 */
export const derivatives: Check = async (setting) => {
  for (const change of [() => ({}), withMask])
    await eachLoss(setting, async (engine, info, loss) => {
      if (loss.type === "cispo") return; // its ratio is a constant, so the gradient is not the loss's derivative
      const critic = loss.type === "value" ? { valueHead: true } : {};
      await checkDerivative(setting, engine, info, loss, critic, change);
    });
  const { adapter } = setting;
  await withPolicy(setting, async (engine, info) => {
    if (!engine.capabilities.adapters) return;
    await checkDerivative(setting, engine, info, crossEntropy, { adapter }, () => ({}));
  });
};

/** @param options of the trained policies */
async function checkDerivative(
  { model }: Setting,
  engine: Engine,
  info: PolicyInfo,
  loss: Loss,
  options: Pick<PolicyOptions, "adapter" | "valueHead">,
  change: (continuation: Continuation) => object,
): Promise<void> {
  const what = JSON.stringify({ ...loss, ...options, masked: change === withMask });
  const lossAfter = async (policy: string, step: typeof adam): Promise<[number, number, number]> => {
    await engine.createPolicy({ name: policy, model, ...options });
    const data = [withNumbers(datum(info, 3, policy), change)];
    const { loss: before } = await engine.forwardBackward(data, loss);
    const { gradientNorm: norm = Number.NaN } = await engine.optimStep(policy, step);
    return [before, norm, (await engine.forwardBackward(data, loss)).loss];
  };
  const [before, norm] = await lossAfter("still", { ...adam, learningRate: 0 });
  holds(norm > 0, `${what}: the gradient is zero`);
  const rate = (0.002 * (1 + Math.abs(before))) / norm ** 2;
  const [, , once] = await lossAfter("once", plainStep(rate));
  const [, , twice] = await lossAfter("twice", plainStep(2 * rate));
  const slope = (4 * (once - before) - (twice - before)) / (2 * rate);
  near(slope / -(norm ** 2), 1, 0.01, `${what}: the loss's slope along its gradient, over the expected one`);
}

function plainStep(rate: number): typeof adam {
  const epsilon = 1e6;
  return { learningRate: rate * epsilon, beta1: 0, beta2: 0, epsilon, weightDecay: 0, clipNorm: 0 };
}

/** Equal gradients have equal norms. */
export const relations: Check = (setting) =>
  withPolicy(setting, async (engine, info) => {
    const base = datum(info, 4);
    const { logprobs } = await engine.forward([base]);
    const fresh = withNumbers(base, ({ advantages }, index) => ({
      logprobs: logprobs[index],
      weights: advantages,
    }));
    const norm = async (data: Datum, loss: Loss): Promise<number> => {
      await engine.forwardBackward([data], loss);
      return (await gradientNorm(engine)) ?? Number.NaN;
    };
    const expected = await norm(fresh, crossEntropy);
    for (const loss of [{ type: "importance_sampling" }, ppo, cispo] as const)
      if (engine.capabilities.losses.includes(loss.type))
        near(await norm(fresh, loss), expected, 10 * setting.tolerance, `${loss.type} where the ratio is 1`);
    const far = withNumbers(base, ({ tokens }) => ({
      logprobs: new Float32Array(tokens.length).fill(-40),
      advantages: new Float32Array(tokens.length).fill(1),
    }));
    equal(await norm(far, ppo), 0, "the gradient's norm of ppo where every token is clipped");
  });

export const accumulation: Check = (setting) =>
  withPolicy(setting, async (engine, info) => {
    await engine.createPolicy({ name: "q", model: setting.model });
    await engine.forwardBackward([datum(info, 0), datum(info, 1)], crossEntropy);
    await engine.forwardBackward([datum(info, 0, "q")], crossEntropy);
    await engine.forwardBackward([datum(info, 1, "q")], crossEntropy);
    const [once, twice] = [await engine.optimStep("p", adam), await engine.optimStep("q", adam)];
    const [expected = 0, norm = 0] = [once.gradientNorm, twice.gradientNorm];
    near(norm, expected, setting.tolerance, "the norm of gradients gathered in two calls");
    equal(
      once.gradientNorm !== undefined,
      engine.capabilities.gradientNorm,
      "the norm, as the capabilities say",
    );
    allNear(
      [...(await outputs(engine, info, "q"))],
      [...(await outputs(engine, info))],
      10 * setting.tolerance,
      "after",
    );
    await hasNoGradient(engine, "after an optimizer step");
  });

export const learning: Check = (setting) =>
  withPolicy(setting, async (engine, info) => {
    const steps = 60;
    const data = [datum(info, 0)];
    const losses: number[] = [];
    for (let step = 0; step < steps; step++) {
      losses.push((await engine.forwardBackward(data, crossEntropy)).loss);
      await engine.optimStep("p", adam);
    }
    const [first = 0, last = 0] = [losses[0], losses.at(-1)];
    holds(last < 0.7 * first, `the loss fell from ${first} to ${last}; expected below 70 %`);
  });

export const zeroRate: Check = (setting) =>
  withPolicy(setting, async (engine, info) => {
    const before = await outputs(engine, info);
    await engine.forwardBackward([datum(info, 0)], crossEntropy);
    await engine.optimStep("p", { ...adam, learningRate: 0 });
    equal(await outputs(engine, info), before, "outputs after a step of rate 0");
    await engine.forwardBackward([datum(info, 0)], crossEntropy);
    await engine.optimStep("p", adam);
    differs(await outputs(engine, info), before, "a step changes the outputs");
  });

export const repeated: Check = async (setting) => {
  const run = () =>
    withPolicy(setting, async (engine, info) => ({
      losses: await train(engine, info, 3),
      after: await outputs(engine, info),
    }));
  equal(await run(), await run(), "the same training again");
};

function flat(arrays: readonly Float32Array[] | undefined): number[] {
  return (arrays ?? []).flatMap((array) => [...array]);
}

interface ExpectedSums {
  readonly loss: number;
  readonly kl: number;
  readonly referenceKl: number;
  readonly clipped: number;
}

/** Of a loss, from the engine's log-probabilities or values: the formulas of engine.ts. */
function expectedSums(
  loss: Loss,
  continuations: readonly Continuation[],
  found: readonly Float32Array[],
): ExpectedSums {
  const own = continuations.map((continuation, index) =>
    ofContinuation(loss, continuation, [...(found[index] ?? [])]),
  );
  const total = (field: keyof ExpectedSums): number => own.reduce((sum, each) => sum + each[field], 0);
  return {
    loss: total("loss"),
    kl: total("kl"),
    referenceKl: total("referenceKl"),
    clipped: total("clipped"),
  };
}

function ofContinuation(loss: Loss, continuation: Continuation, found: readonly number[]): ExpectedSums {
  const sum = (of: (output: number, index: number) => number): number =>
    found.reduce((total, output, index) => total + (counts(index) ? of(output, index) : 0), 0);
  const counts = (index: number): boolean => numberAt(continuation.mask, index) === 1;
  const { weights, advantages, logprobs, reference, penalties, targets, values } = continuation;
  if (loss.type === "cross_entropy")
    return { ...none, loss: sum((logp, index) => -numberAt(weights, index) * logp) };
  if (loss.type === "value") {
    const error = (value: number, index: number): number => (value - numberAt(targets, index)) ** 2;
    const held = (value: number, index: number): number =>
      loss.clip === undefined ? 0 : error(within(value, numberAt(values, index), loss.clip), index);
    const worst = (value: number, index: number): number => Math.max(error(value, index), held(value, index));
    return {
      ...none,
      loss: sum((value, index) => 0.5 * numberAt(weights, index) * worst(value, index)),
      clipped: sum((value, index) => (held(value, index) > error(value, index) ? 1 : 0)),
    };
  }
  const logRatio = (logp: number, index: number): number => logp - numberAt(logprobs, index);
  const mean = sum(logRatio) / sum(() => 1);
  const isSequence = loss.type === "ppo" && loss.ratio === "sequence";
  const ratio = (logp: number, index: number): number => Math.exp(isSequence ? mean : logRatio(logp, index));
  const free = (logp: number, index: number): number => ratio(logp, index) * numberAt(advantages, index);
  const objective = (logp: number, index: number): number => {
    if (loss.type === "importance_sampling") return free(logp, index);
    const advantage = numberAt(advantages, index);
    const clip = Math.min(1 + loss.clipHigh, Math.max(1 - loss.clipLow, ratio(logp, index))) * advantage;
    if (loss.type === "cispo") return clip * logp;
    const lower = Math.min(free(logp, index), clip);
    return loss.dualClip !== undefined && advantage < 0 ? Math.max(lower, loss.dualClip * advantage) : lower;
  };
  const k = (estimator: KlEstimator, logp: number, index: number): number =>
    divergence(estimator, logp - numberAt(reference, index));
  const { kl } = loss;
  return {
    loss: sum(
      (logp, index) =>
        (kl === undefined ? 0 : numberAt(penalties, index) * k(kl, logp, index)) - objective(logp, index),
    ),
    kl: sum((logp, index) => Math.exp(logRatio(logp, index)) - 1 - logRatio(logp, index)),
    referenceKl: sum((logp, index) => k("k3", logp, index)),
    clipped: sum((logp, index) => {
      const unclipped = free(logp, index) * (loss.type === "cispo" ? logp : 1);
      return objective(logp, index) === unclipped ? 0 : 1;
    }),
  };
}

const none: ExpectedSums = { loss: 0, kl: 0, referenceKl: 0, clipped: 0 };

function numberAt(field: Float32Array | undefined, index: number): number {
  return field?.[index] ?? 1;
}

function within(value: number, centre: number, distance: number): number {
  return Math.min(centre + distance, Math.max(centre - distance, value));
}

function divergence(estimator: KlEstimator, difference: number): number {
  if (estimator === "k1") return difference;
  if (estimator === "k2") return difference ** 2 / 2;
  const held = Math.min(10, Math.max(-10, difference));
  return Math.exp(-held) - 1 + held;
}
