/** Where the batch of a step comes from: sampled when the step begins, or ahead, while the step before trains. */
import type { Engine, PolicyCopy } from "../engines/engine.ts";
import { BudgetError, ServiceError, TroupeError } from "../errors.ts";
import { settleAll } from "../settle.ts";
import { playStep, type PlaySetting, type StepEpisodes, type UsedBefore } from "./play.ts";
import { readSamples, recording, saveSamples, type Sample, type Samples } from "./recorded-samples.ts";

export interface Batch {
  readonly played: StepEpisodes;
  /** Sampled from the weights before the latest step. */
  readonly isBehind: boolean;
}

export interface Batches {
  take(stageStep: number, before: UsedBefore): Promise<Batch>;
  /** Called with the next step, when a step's batch is sampled and before anything of it is trained. */
  prepare(stageStep: number, before: UsedBefore): void;
  /** Waits for a batch that is sampled ahead, and saves its samples in a checkpoint's folder. */
  save(folder: string): Promise<{ readonly nextBatch?: string }>;
  /** Ends sampling ahead. */
  close(): Promise<void>;
}

/** `maxLag: 0`. */
export function batchesOnDemand(play: PlaySetting): Batches {
  return {
    take: async (stageStep, before) => ({ played: await playStep(play, stageStep, before), isBehind: false }),
    prepare: () => undefined,
    save: async () => ({}),
    close: async () => undefined,
  };
}

export interface AheadSetting {
  readonly play: PlaySetting;
  readonly engine: Pick<Engine, "copy">;
  /** Names of the policies that the steps change. */
  readonly trained: Iterable<string>;
  /** The last step of the stage. */
  readonly steps: number;
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
export class BatchesAhead implements Batches {
  readonly #setting: AheadSetting;
  readonly #closing = new AbortController();
  #next: Ahead | null = null;
  /** Of the checkpoint that the run resumes from. */
  #resumed: Samples | null = null;

  constructor(setting: AheadSetting) {
    this.#setting = setting;
  }

  /** @throws TroupeError `bad_run` */
  async resume(folder: string, nextBatch: string): Promise<void> {
    this.#resumed = await readSamples(folder, nextBatch);
  }

  async take(stageStep: number, before: UsedBefore): Promise<Batch> {
    const [next, resumed] = [this.#next, this.#resumed];
    this.#next = null;
    this.#resumed = null;
    if (next !== null) return { played: await next.played, isBehind: true };
    const sample = this.#setting.play.rollout.engine.sample.bind(this.#setting.play.rollout.engine);
    const played = await this.#play(stageStep, before, recording(resumed ?? new Map(), sample));
    return { played, isBehind: resumed !== null };
  }

  prepare(stageStep: number, before: UsedBefore): void {
    if (stageStep > this.#setting.steps) return;
    const samples: Samples = new Map();
    const played = this.#fromCopies((sample) => this.#play(stageStep, before, recording(samples, sample)));
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

  async close(): Promise<void> {
    this.#closing.abort();
    await this.#next?.played.catch(() => undefined);
  }

  #play(stageStep: number, before: UsedBefore, sample: Sample): Promise<StepEpisodes> {
    const { play } = this.#setting;
    const { signal } = play.rollout;
    const own = this.#closing.signal;
    const both = signal === undefined ? own : AbortSignal.any([own, signal]);
    return playStep(
      { ...play, rollout: { ...play.rollout, engine: { sample }, signal: both } },
      stageStep,
      before,
    );
  }

  /** Copies the weights at once, before any later change; policies that do not train need no copy. */
  async #fromCopies<T>(use: (sample: Sample) => Promise<T>): Promise<T> {
    const { engine, trained, play } = this.#setting;
    const names = [...trained];
    const copying = names.map((name) => copyPolicy(engine, name));
    try {
      const copies = await settleAll(copying);
      const copyOf = new Map(names.map((name, index) => [name, copies[index]]));
      return await use((request, options) =>
        (copyOf.get(request.policy) ?? play.rollout.engine).sample(request, options),
      );
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
