/**
 * Where the batch of a step comes from: sampled when the step begins, or ahead, while the step before trains. The samples
 * of a batch that is not trained yet are saved in a checkpoint: a resumed run trains exactly these.
 */
import { createHash } from "node:crypto";
import path from "node:path";
import { z } from "zod";
import type { Engine, PolicyCopy, SampledSequence, SampleRequest } from "../engines/engine.ts";
import { BudgetError, ServiceError, TroupeError } from "../errors.ts";
import { writeFileDurably } from "../runs/durable.ts";
import { readLines } from "../runs/json-lines.ts";
import { settleAll } from "../settle.ts";
import { lineageOf } from "./ended.ts";
import type { Batch, Batches, Run, Sampler, StepEpisodes, UsedBefore } from "./state.ts";

/** Samples and judges a step's episodes. */
export type Play = (
  run: Run,
  stageStep: number,
  before: UsedBefore,
  sampler: Sampler,
  signal: AbortSignal,
) => Promise<StepEpisodes>;

/** Those of a resumed run start with the batch of its checkpoint. @throws TroupeError `bad_run` */
export async function openBatches(run: Run, play: Play): Promise<Batches> {
  if ((run.recipe.train.maxLag ?? 0) === 0) return batchesOnDemand(run, play);
  const { directory = "", state } = run.folder.checkpoint ?? {};
  const nextBatch = state?.reinforcement?.nextBatch;
  const resumed = nextBatch === undefined ? null : await readSamples(directory, nextBatch);
  return run.closing.use(new Prefetcher(run, play, resumed));
}

/** `maxLag: 0`. */
function batchesOnDemand(run: Run, play: Play): Batches {
  return {
    take: async (stageStep, before) => ({
      played: await play(run, stageStep, before, samplerOf(run), run.sampling),
      isOffPolicy: false,
    }),
    prepare: () => undefined,
    save: async () => ({}),
  };
}

function samplerOf({ engine, lineage }: Run): Sampler {
  return { sample: (request, options) => engine.sample(request, options), lineage };
}

/** A batch that is being sampled. */
interface Ahead {
  readonly played: Promise<StepEpisodes>;
  readonly samples: Samples;
}

/**
 * `maxLag: 1`. Batch k + 1 is sampled from the weights before step k, which trains meanwhile. Every batch but the first
 * is therefore one step behind, whenever the run was interrupted: a checkpoint contains the samples of the next batch.
 */
class Prefetcher implements Batches, AsyncDisposable {
  readonly #run: Run;
  readonly #play: Play;
  readonly #closing = new AbortController();
  #next: Ahead | null = null;
  /** Of the checkpoint that the run resumes from. */
  #resumed: Samples | null;

  constructor(run: Run, play: Play, resumed: Samples | null) {
    this.#run = run;
    this.#play = play;
    this.#resumed = resumed;
  }

  async take(stageStep: number, before: UsedBefore): Promise<Batch> {
    const [next, resumed] = [this.#next, this.#resumed];
    this.#next = null;
    this.#resumed = null;
    if (next !== null) return { played: await next.played, isOffPolicy: true };
    const { sample, lineage } = samplerOf(this.#run);
    const sampler =
      resumed === null
        ? { sample, lineage }
        : { sample: recording(resumed, sample), lineage: await this.#lineageBefore(stageStep) };
    const played = await this.#playWith(stageStep, before, sampler);
    return { played, isOffPolicy: resumed !== null };
  }

  prepare(stageStep: number, before: UsedBefore): void {
    if (stageStep > this.#run.recipe.train.steps) return;
    const samples: Samples = new Map();
    const { lineage } = this.#run;
    const played = this.#fromCopies((sample) =>
      this.#playWith(stageStep, before, {
        sample: this.#isDriven ? sample : recording(samples, sample),
        lineage,
      }),
    );
    played.catch(() => undefined); // `take` and `save` report it
    this.#next = { played, samples };
  }

  /** After failures of services the next step samples anew. */
  async save(folder: string): Promise<{ readonly nextBatch?: string }> {
    if (this.#next === null) return {};
    try {
      await this.#next.played;
    } catch (error) {
      if (error instanceof ServiceError || error instanceof BudgetError) return {};
      throw error;
    }
    return { nextBatch: await saveSamples(folder, this.#next.samples) };
  }

  /** Ends sampling ahead. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort();
    await this.#next?.played.catch(() => undefined);
  }

  /** What programs did is in the run's folder (rollout/ended.ts): they might ask for other samples. */
  get #isDriven(): boolean {
    return this.#run.environment.drive !== undefined;
  }

  /** Of the weights that sampled the batch of a checkpoint: those before its last step. */
  #lineageBefore(stageStep: number): Promise<string> {
    const warmSteps = this.#run.recipe.warmStart?.steps ?? 0;
    return lineageOf(this.#run.folder, warmSteps + stageStep - 2);
  }

  #playWith(stageStep: number, before: UsedBefore, sampler: Sampler): Promise<StepEpisodes> {
    const signal = AbortSignal.any([this.#closing.signal, this.#run.sampling]);
    return this.#play(this.#run, stageStep, before, sampler, signal);
  }

  /** Copies the weights at once, before any later change; policies that do not train need no copy. */
  async #fromCopies<T>(use: (sample: Sample) => Promise<T>): Promise<T> {
    const { engine, stage } = this.#run;
    const names = [...stage.trained];
    const copying = names.map((name) => copyPolicy(engine, name));
    try {
      const copies = await settleAll(copying);
      const copyOf = new Map(names.map((name, index) => [name, copies[index]]));
      return await use((request, options) => (copyOf.get(request.policy) ?? engine).sample(request, options));
    } finally {
      // Also if one of the copies failed.
      await Promise.allSettled(copying.map(async (copy) => (await copy).release()));
    }
  }
}

async function copyPolicy(engine: Pick<Engine, "copy">, name: string): Promise<PolicyCopy> {
  if (engine.copy !== undefined) return engine.copy(name);
  throw new TroupeError("unsupported", "The engine cannot sample while it trains; use `train.maxLag: 0`.");
}

export type Sample = Engine["sample"];

/** By request. */
export type Samples = Map<string, readonly SampledSequence[]>;

const file = "next-batch.jsonl";

const line = z.strictObject({
  request: z.string(),
  sequences: z.array(
    z.strictObject({
      tokens: z.base64(),
      logprobs: z.base64(),
      entropies: z.base64().optional(),
      stopReason: z.enum(["stop", "length"]),
      policyVersion: z.int(),
    }),
  ),
});

/** Answers what is known, and adds what it samples. */
export function recording(samples: Samples, sample: Sample): Sample {
  return async (request, options) => {
    const key = keyOf(request);
    const known = samples.get(key);
    if (known !== undefined) return [...known];
    const sampled = await sample(request, options);
    samples.set(key, sampled);
    return sampled;
  };
}

/** Returns the file's name. */
export async function saveSamples(folder: string, samples: Samples): Promise<string> {
  const lines = [...samples].map(([request, sequences]) => {
    const plain = sequences.map(({ tokens, logprobs, entropies, ...rest }) => ({
      ...rest,
      tokens: encoded(tokens),
      logprobs: encoded(logprobs),
      ...(entropies && { entropies: encoded(entropies) }),
    }));
    return `${JSON.stringify({ request, sequences: plain })}\n`;
  });
  // In an order that does not depend on when samples were answered.
  await writeFileDurably(path.join(folder, file), lines.toSorted().join(""));
  return file;
}

/** @throws TroupeError `bad_run` */
export async function readSamples(folder: string, name: string): Promise<Samples> {
  const place = path.join(folder, name);
  const lines = await readLines(place);
  return new Map(
    lines.map(({ value }) => {
      const found = line.safeParse(value);
      if (!found.success)
        throw new TroupeError(
          "bad_run",
          `${place} is damaged: ${found.error.message}. Remove the checkpoint.`,
        );
      const { request, sequences } = found.data;
      return [request, sequences.map(decoded)];
    }),
  );
}

/** Of everything that decides the samples. */
function keyOf({ prompt, ...rest }: SampleRequest): string {
  const { policy, seed, count, maxTokens, temperature, topK = 0, topP = 1 } = rest;
  const { stopTokens = [], stopStrings = [] } = rest;
  const settings = [policy, seed, count, maxTokens, temperature, topK, topP, stopTokens, stopStrings];
  const hash = createHash("sha256").update(`${JSON.stringify(settings)}\n`);
  return hash.update(bytesOf(prompt)).digest("hex");
}

function bytesOf({ buffer, byteOffset, byteLength }: Int32Array | Float32Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength);
}

/** Like all arrays of bytes that a run writes: little-endian, as on every supported machine. */
function encoded(values: Int32Array | Float32Array): string {
  return bytesOf(values).toString("base64");
}

function decoded({
  tokens,
  logprobs,
  entropies,
  ...rest
}: z.output<typeof line>["sequences"][number]): SampledSequence {
  return {
    ...rest,
    tokens: new Int32Array(aligned(tokens)),
    logprobs: new Float32Array(aligned(logprobs)),
    ...(entropies !== undefined && { entropies: new Float32Array(aligned(entropies)) }),
  };
}

/** Aligned for any type of number. */
function aligned(text: string): ArrayBuffer {
  return new Uint8Array(Buffer.from(text, "base64")).buffer;
}
