/**
 * Measures this machine with this recipe's models: trains on and samples a few real prompts and actions, in a temporary
 * folder.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Datum, Engine } from "../../../engines/engine.ts";
import { showDuration, showLarge } from "../../../format.ts";
import type { ResolvedRecipe } from "../../../recipes/resolve.ts";
import { sum } from "../../../statistics.ts";
import { estimate, type Estimate } from "../../../train/estimate.ts";
import { inGroups, neededMemory, tokensIn, typicalData, type NeededMemory } from "../../../train/memory.ts";
import { openPolicies, type OpenPolicies } from "../../../train/policies.ts";
import { namedTeams, warmStartRecipe, type NamedTeam } from "../../../train/teams.ts";

export interface Calibration extends NeededMemory {
  readonly engine: string;
  readonly estimate: Estimate;
  readonly policies: readonly {
    readonly name: string;
    readonly parameters: number;
    readonly trainable: number;
    /** Of a sequence, in tokens. */
    readonly maxLength: number;
  }[];
  /** Prompt tokens count once per group. 0: the recipe has no such part. */
  readonly tokensPerSecond: {
    readonly supervised: number;
    readonly grouped: number;
    /** Of prompts that are sampled from, and of what is sampled in as many sequences at once as in a step. */
    readonly prompts: number;
    readonly sampled: number;
  };
  readonly measured: {
    /** Tokens of the largest measurements, of those of a batch; the rest is extrapolated from them. */
    readonly tokens: number;
    readonly of: number;
    /** By how much the last two measurements of a rate differ, as a share; null: only one was possible. */
    readonly spread: number | null;
    /** The share of its threads' time in which this process ran; null: the engine computes in another process. */
    readonly processorShare: number | null;
  };
}

/** How a rate is measured. */
export interface Effort {
  /** For all measurements but the first, which is repeated if it was as quick: a GPU loads in it what it computes with. */
  readonly seconds: number;
  /** Tokens of the first measurement. */
  readonly fewest: number;
  /** Tokens of each reply in the first measurement of sampling. */
  readonly shortest: number;
}

const ofProcessor: Effort = { seconds: 2, fewest: 32, shortest: 3 };
/** It takes as long for a few tokens as for a thousand, and its first steps of decoding are slower than the others. */
const ofGpu: Effort = { seconds: 8, fewest: 1024, shortest: 32 };

/** @param note shows what is being done: opening and measuring large models takes a while */
export async function calibrate(
  resolved: ResolvedRecipe,
  teams: readonly NamedTeam[],
  note: (line: string) => void,
): Promise<Calibration> {
  const folder = await mkdtemp(join(tmpdir(), "troupe-dry-run-"));
  const engine = await resolved.configuredEngine.open();
  try {
    const bases = await measureBases(engine, resolved, folder, note);
    note("opening the models");
    const start = performance.now();
    const opened = await openPolicies(engine, resolved.recipe, resolved.environment, folder);
    note(`opened in ${showDuration((performance.now() - start) / 1000)}`);
    return await measure(engine, resolved, teams, opened, bases, note);
  } finally {
    await engine.close();
    await rm(folder, { recursive: true, force: true });
  }
}

/** The warm start. */
interface Teaching {
  readonly rate: Rate;
  /** Seconds of an update. */
  readonly update: number;
  readonly needed: NeededMemory;
}

/** A warm start of bases trains whole models, before there are policies. Null: the recipe has none. */
async function measureBases(
  engine: Engine,
  resolved: ResolvedRecipe,
  folder: string,
  note: (line: string) => void,
): Promise<Teaching | null> {
  const { environment } = resolved;
  const recipe = warmStartRecipe(resolved.recipe);
  if (recipe === resolved.recipe) return null;
  note("opening the bases of the warm start");
  const opened = await openPolicies(engine, recipe, environment, folder);
  const examples = await typicalData(resolved, namedTeams(recipe, environment), opened);
  const needed = await neededMemory(engine, resolved, opened, examples);
  const effort = effortFor(needed);
  const train = (portion: readonly Datum[]) => forwardBackward(engine, portion);
  const update = await secondsOfUpdate(engine, examples, effort);
  const rate = await measureRate(examples, train, effort);
  note(`warm start: ${showLarge(rate.rate)} tokens per second`);
  for (const policy of Object.keys(opened)) await engine.removePolicy(policy);
  return { rate, update, needed };
}

function effortFor({ deviceMemory }: NeededMemory): Effort {
  return deviceMemory === null ? ofProcessor : ofGpu;
}

/** Of two parts of a run, one after the other. */
function larger(one: NeededMemory, other: NeededMemory | undefined): NeededMemory {
  if (other === undefined) return one;
  const onDevice = [one, other].flatMap(({ deviceMemory }) => deviceMemory ?? []);
  return {
    ...one,
    memory: Math.max(one.memory, other.memory),
    deviceMemory: onDevice.length === 0 ? null : Math.max(...onDevice),
  };
}

async function measure(
  engine: Engine,
  resolved: ResolvedRecipe,
  teams: readonly NamedTeam[],
  opened: OpenPolicies,
  bases: Teaching | null,
  note: (line: string) => void,
): Promise<Calibration> {
  const { recipe } = resolved;
  const sizes = Object.fromEntries(
    Object.entries(opened).map(([name, policy]) => [name, { ...policy, ...policy.info }]),
  );
  const examples = await typicalData(resolved, teams, opened);
  const grouped = inGroups(examples, resolved.algorithm);
  const estimated = await estimate(resolved, sizes);
  const train = (portion: readonly Datum[]) => forwardBackward(engine, portion);
  // Before anything is measured: the process then holds its weights and no more.
  const needed = await neededMemory(engine, resolved, opened, grouped);
  const effort = effortFor(needed);
  const processorShare = processorMeter(
    recipe.engine.type === "local" ? Number(engine.arithmetic?.["threads"]) : null,
  );
  note("allocating gradients and moments");
  const update = await secondsOfUpdate(engine, examples, effort);
  const rate = async (what: string, isNeeded: boolean, find: () => Promise<Rate>): Promise<Rate> => {
    if (!isNeeded) return unmeasured;
    const found = await find();
    note(`${what}: ${showLarge(found.rate)} tokens per second`);
    return found;
  };
  const { warmStart, training, signals } = estimated;
  const supervised =
    bases?.rate ??
    (await rate("warm start", warmStart.samples > 0, () => measureRate(examples, train, effort)));
  const groups = await rate("training in groups", training.samples + signals.samples > 0, () =>
    measureRate(grouped, train, effort),
  );
  const { temperature, tasksPerStep } = recipe.train;
  const sampleLike = samplerOf(engine, temperature);
  const prompts = await rate("prompts", true, () => measureRate(examples.map(promptsOf), sampleLike, effort));
  const decoded = await rate("sampling", true, () =>
    measureDecoding(grouped.slice(0, tasksPerStep).flat(), prompts.rate, sampleLike, effort),
  );
  return {
    engine: engine.description,
    estimate: estimated,
    policies: Object.values(opened).map(({ info }) => ({
      name: info.name,
      parameters: info.parameters,
      trainable: info.trainableParameters,
      maxLength: info.maxLength,
    })),
    tokensPerSecond: {
      supervised: withUpdate(supervised, bases?.update ?? update),
      grouped: withUpdate(groups, update),
      prompts: prompts.rate,
      sampled: decoded.rate,
    },
    measured: { ...sampleOf([supervised, groups, prompts, decoded]), processorShare: processorShare() },
    ...larger(needed, bases?.needed),
  };
}

/** Of a batch with one update: however little of it was measured, an update takes its whole time. */
function withUpdate({ whole, rate }: Rate, update: number): number {
  return whole === 0 ? 0 : whole / (whole / rate + update);
}

/**
 * @param threads null: the engine computes elsewhere
 * @returns what share of its threads' time this process has run since; the time of JavaScript counts as well
 */
function processorMeter(threads: number | null): () => number | null {
  if (threads === null) return () => null;
  const [start, before] = [performance.now(), process.cpuUsage()];
  return () => {
    const { user, system } = process.cpuUsage(before);
    return (user + system) / 1000 / ((performance.now() - start) * threads);
  };
}

function sampleOf(all: readonly Rate[]): Omit<Calibration["measured"], "processorShare"> {
  const rates = all.filter(({ whole }) => whole > 0);
  const spreads = rates.map(({ spread }) => spread);
  return {
    tokens: sum(rates.map(({ tokens }) => tokens)),
    of: sum(rates.map(({ whole }) => whole)),
    spread: spreads.includes(null) ? null : Math.max(...spreads.map(Number)),
  };
}

const adam = { learningRate: 1e-6, beta1: 0.9, beta2: 0.95, epsilon: 1e-8, weightDecay: 0, clipNorm: 1 };

/** The second of two updates, unless it would take long: the first also allocates gradients and moments. */
async function secondsOfUpdate(
  engine: Engine,
  examples: readonly (readonly Datum[])[],
  { seconds }: Effort,
): Promise<number> {
  const update = async () => {
    for (const policy of new Set(examples.flat().map((datum) => datum.policy)))
      await engine.optimStep(policy, adam);
  };
  await forwardBackward(engine, portionOf(examples, 1));
  const first = await secondsOf(update);
  if (first > seconds) return first;
  await forwardBackward(engine, portionOf(examples, 1));
  return secondsOf(update);
}

/** @returns tokens, a prompt's once */
async function forwardBackward(engine: Engine, data: readonly Datum[]): Promise<number> {
  await engine.forwardBackward(data, { type: "cross_entropy" });
  return tokensIn(data);
}

/**
 * Samples as the data has it, from prompts that begin with another of their tokens in each call: an engine that keeps
 * what it computed of prompts would find those of the call before.
 * @returns tokens: what was sampled may end before the length that was asked for
 */
function samplerOf(engine: Engine, temperature: number): (data: readonly Datum[]) => Promise<number> {
  let calls = 0;
  return async (data) => {
    calls += 1;
    const counts = await Promise.all(
      data.map(async ({ policy, prompt: whole, continuations }, seed) => {
        const first = calls % whole.length;
        const prompt = Int32Array.of(...whole.subarray(first), ...whole.subarray(0, first));
        const maxTokens = continuations[0]?.tokens.length ?? 1;
        const count = continuations.length;
        const sampled = await engine.sample({ policy, prompt, count, maxTokens, temperature, seed });
        return prompt.length + sum(sampled.map(({ tokens }) => tokens.length));
      }),
    );
    return sum(counts);
  };
}

export interface Rate {
  /** Tokens per second of the last measurement. */
  readonly rate: number;
  /** What it processed, and what there is. */
  readonly tokens: number;
  readonly whole: number;
  /** By how much the last two measurements differ, as a share of the last; null: only one was possible. */
  readonly spread: number | null;
}

const unmeasured: Rate = { rate: 0, tokens: 0, whole: 0, spread: null };

/** The prompts alone, with one token to sample from each. */
function promptsOf(data: readonly Datum[]): Datum[] {
  return data.map(({ policy, prompt }) => ({
    policy,
    prompt,
    continuations: [{ tokens: new Int32Array(1) }],
  }));
}

/**
 * Tokens that are sampled per second once the prompts are computed: all sequences of a step at once, as each step of
 * decoding reads all weights, but for few tokens after shortened prompts. A policy's sequences run without the others',
 * as roles take turns.
 * @param promptRate prompt tokens per second
 */
export async function measureDecoding(
  data: readonly Datum[],
  promptRate: number,
  work: (data: readonly Datum[]) => Promise<number>,
  effort: Pick<Effort, "seconds" | "shortest">,
): Promise<Rate> {
  const policies = [...Map.groupBy(data, ({ policy }) => policy).values()];
  const longest = Math.max(
    ...data.flatMap(({ continuations }) => continuations.map(({ tokens }) => tokens.length)),
  );
  const promptTokens = Math.max(1, Math.floor((promptRate * effort.seconds) / 4 / data.length));
  const sequences = sum(data.map(({ continuations }) => continuations.length));
  const secondsWith = (length: number) =>
    secondsOf(async () => {
      for (const own of policies) await work(own.map((datum) => cut(datum, promptTokens, length)));
    });
  const shortest = Math.min(longest, effort.shortest);
  if ((await secondsWith(1)) <= effort.seconds) await secondsWith(shortest);
  const first = await secondsWith(1);
  const rates: number[] = [];
  let [left, length] = [effort.seconds, shortest];
  for (;;) {
    const taken = await secondsWith(length);
    const steps = length - 1;
    // On a busy machine the prompts alone may seem to take as long as prompts and steps.
    rates.push((sequences * steps) / Math.max(taken - first, taken / 4));
    left -= taken;
    const next = Math.min(longest, Math.floor(1 + steps * Math.min(growth, left / taken)));
    if (next <= length) break;
    length = next;
  }
  const [rate = 0, previous] = rates.toReversed();
  const spread = previous === undefined ? null : Math.abs(previous - rate) / rate;
  return { rate, tokens: sequences * length, whole: sequences * longest, spread };
}

function cut({ policy, prompt, continuations }: Datum, promptTokens: number, tokens: number): Datum {
  return {
    policy,
    prompt: prompt.slice(0, promptTokens),
    continuations: continuations.map(() => ({ tokens: new Int32Array(tokens) })),
  };
}

/** Each measurement is at most this many times as large as the one before it. */
const growth = 4;

/**
 * @param tasks the data of each
 * @param work processes data and returns how many tokens they were
 */
export async function measureRate(
  tasks: readonly (readonly Datum[])[],
  work: (data: readonly Datum[]) => Promise<number>,
  { seconds, fewest }: Pick<Effort, "seconds" | "fewest">,
): Promise<Rate> {
  const whole = tokensIn(tasks.flat());
  const rates: number[] = [];
  let [left, size, tokens, before, isFirst] = [seconds, Math.min(whole, fewest), 0, 0, true];
  for (;;) {
    const portion = portionOf(tasks, size);
    let done = 0;
    const taken = await secondsOf(async () => void (done = await work(portion)));
    const isRepeated = isFirst && taken <= seconds;
    isFirst = false;
    if (isRepeated) continue;
    rates.push(done / taken);
    tokens = tokensIn(portion);
    left -= taken;
    const more = Math.min(growth, left / taken);
    if (more < 1 || (size === whole && before === whole)) break;
    [before, size] = [size, Math.min(whole, Math.floor(size * more))];
  }
  const [rate = 0, previous] = rates.toReversed();
  const spread = previous === undefined ? null : Math.abs(previous - rate) / rate;
  return { rate, tokens, whole, spread };
}

/**
 * The first tasks, shortened so that together they have about this many tokens: all prompts and actions by the same share,
 * since policies may differ in size.
 */
export function portionOf(tasks: readonly (readonly Datum[])[], tokens: number): Datum[] {
  const taken: Datum[] = [];
  for (const task of tasks) {
    if (tokensIn(taken) >= tokens) break;
    taken.push(...task);
  }
  const share = tokens / tokensIn(taken);
  return share >= 1 ? taken : taken.map((datum) => shortened(datum, share));
}

function shortened({ policy, prompt, continuations }: Datum, share: number): Datum {
  const part = (all: Int32Array) => all.slice(0, Math.max(1, Math.round(all.length * share)));
  return {
    policy,
    prompt: part(prompt),
    continuations: continuations.map(({ tokens }) => ({ tokens: part(Int32Array.from(tokens)) })),
  };
}

async function secondsOf(work: () => Promise<void>): Promise<number> {
  const start = performance.now();
  await work();
  return (performance.now() - start) / 1000;
}
