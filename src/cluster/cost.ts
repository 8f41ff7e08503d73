/**
 * GPUs, memory, hours and price of a run in closed form.
 *
 * Sources: operations per token as in train/estimate.ts (2·P forward, 6·P with a backward pass, 4·P for an adapter);
 * a whole model with AdamW in mixed precision takes 16 bytes per parameter (ZeRO, arXiv 1910.02054, section 3.1); decoding
 * reads all weights and the cached keys and values once per token step, so it is bound by memory bandwidth (arXiv 2211.05102,
 * section 2). Recomputing activations costs one more forward pass (arXiv 2205.05198).
 *
 * Uncertain: the shares of peak below, lengths of actions, time in tools and sandboxes, waiting for the slowest episode.
 * Expect hours within a factor of three.
 */
import type { Gpu } from "./gpus.ts";
import { cacheBytes, type PlannedPolicy } from "./sizes.ts";
import type { Load } from "./load.ts";

/**
 * Shares of the peak that servers reach: matrix products of prompts and of training, and bandwidth while decoding. That of
 * training is fitted to SkyRL's own table (docs/content/docs/examples/megatron.mdx there): 0.12 and 0.16 with FSDP.
 */
const share = { prefill: 0.4, training: 0.15, decoding: 0.5 } as const;
/** Of each training step: publishing weights to the samplers, and the wait between phases. */
const secondsPerStep = 15;
/** Of a GPU's memory, the rest being used by the runtime and fragmentation. */
const usable = 0.85;
/** Bytes per parameter: weights as served, and weights, gradients and moments while a whole model is trained. */
const bytes = { served: 2, trained: 16 } as const;
/** Widths of activations that one layer keeps while it is recomputed and differentiated. */
const widths = 34;
/** Tokens whose logits are in memory at a time. */
const logitTokens = 4096;

export interface ServerSize {
  /** GPUs that hold the model while it trains, and while it samples; the same ones if colocated. */
  readonly training: number;
  readonly sampling: number;
  readonly colocated: boolean;
  readonly gpus: number;
  /** Of one GPU, at the peak. */
  readonly gpuBytes: number;
  /** Of the machine's memory: optimizer states while they are off the GPU, and room to load and save. */
  readonly hostBytes: number;
}

/** Bytes on each of `gpus` GPUs that share weights, gradients and moments while the policies of a server train. */
export function trainingBytes(policies: readonly PlannedPolicy[], longest: number, gpus: number): number {
  const [first] = policies;
  if (first === undefined) return 0;
  const { shape, parameters } = first;
  const states =
    first.adapter === undefined
      ? bytes.trained * parameters
      : bytes.served * parameters + bytes.trained * Math.max(...policies.map(({ trainable }) => trainable));
  const kept = 2 * shape.layers * longest * shape.hiddenSize;
  const layer = widths * longest * shape.hiddenSize;
  const logits = 8 * Math.min(longest, logitTokens) * shape.vocabularySize;
  return states / gpus + kept + layer + logits;
}

/** Bytes on each of `gpus` GPUs that sample from the weights, with room for a few sequences. */
function samplingBytes({ shape, parameters }: PlannedPolicy, longest: number, gpus: number): number {
  return (bytes.served * parameters + 8 * longest * cacheBytes(shape)) / gpus;
}

/** The smallest server whose memory suffices, of 1, 2, 4, … GPUs. Policies of one server share their model. */
export function serverSize(
  policies: readonly PlannedPolicy[],
  longest: number,
  gpu: Gpu,
  colocated: boolean,
): ServerSize {
  const [first] = policies;
  if (first === undefined) return { training: 0, sampling: 0, colocated, gpus: 0, gpuBytes: 0, hostBytes: 0 };
  const training = fewest(gpu, (gpus) => trainingBytes(policies, longest, gpus));
  const sampling = colocated ? training : fewest(gpu, (gpus) => samplingBytes(first, longest, gpus));
  const whole =
    first.adapter === undefined ? bytes.trained * first.parameters : bytes.served * first.parameters;
  const adapters =
    first.adapter === undefined ? 0 : bytes.trained * sum(policies.map(({ trainable }) => trainable));
  return {
    training,
    sampling,
    colocated,
    gpus: colocated ? training : training + sampling,
    gpuBytes: Math.max(trainingBytes(policies, longest, training), samplingBytes(first, longest, sampling)),
    hostBytes: 2 * (whole + adapters) + 32e9,
  };
}

function fewest({ memoryBytes }: Gpu, needed: (gpus: number) => number): number {
  for (let gpus = 1; gpus < 1024; gpus *= 2) if (needed(gpus) <= usable * memoryBytes) return gpus;
  return Infinity;
}

export interface Hours {
  readonly sampling: number;
  readonly training: number;
}

/** Policies of one server take turns. */
export function hoursOf(
  policies: readonly { readonly policy: PlannedPolicy; readonly load: Load }[],
  { training, sampling }: ServerSize,
  gpu: Gpu,
): Hours {
  const seconds = policies.map(({ policy, load }) => ({
    sampling: samplingSeconds(policy, load, gpu, sampling),
    training: trainingSeconds(policy, load, gpu, training),
  }));
  return {
    sampling: sum(seconds.map((each) => each.sampling)) / 3600,
    training: sum(seconds.map((each) => each.training)) / 3600,
  };
}

export interface RunHours extends Hours {
  readonly total: number;
}

/**
 * Servers train at the same time. They sample at the same time if their roles act together, and otherwise wait for each
 * other.
 */
export function runHours(servers: readonly Hours[], steps: number, actTogether: boolean): RunHours {
  const sampled = servers.map(({ sampling }) => sampling);
  const sampling = actTogether ? Math.max(0, ...sampled) : sum(sampled);
  const training = Math.max(0, ...servers.map((each) => each.training));
  return { sampling, training, total: sampling + training + (steps * secondsPerStep) / 3600 };
}

/** A token step of n sequences takes as long as reading the weights and n caches; n is bounded by memory. */
function samplingSeconds({ shape, parameters }: PlannedPolicy, load: Load, gpu: Gpu, gpus: number): number {
  if (load.sampled === 0) return 0;
  const weights = bytes.served * parameters;
  const cache = cacheBytes(shape) * load.longest;
  const room = Math.max(1, (usable * gpu.memoryBytes * gpus - weights) / cache);
  const together = Math.min(room, Math.max(1, load.atATime));
  // On average half of the cache is filled.
  const tokenStep = (weights + (together * cache) / 2) / (share.decoding * gpu.bytesPerSecond * gpus);
  const prefill = (2 * parameters * load.prefilled) / (share.prefill * gpu.flops * gpus);
  return prefill + (load.sampled / together) * tokenStep;
}

function trainingSeconds({ parameters, adapter }: PlannedPolicy, load: Load, gpu: Gpu, gpus: number): number {
  const perToken = (adapter === undefined ? 8 : 6) * parameters;
  return (perToken * load.trained + 2 * parameters * load.scored) / (share.training * gpu.flops * gpus);
}

/** Dollars of tokens at a service. */
export function tokenDollars(
  { sampled, prefilled, trained, scored }: Load,
  price: { readonly prefill: number; readonly sample: number; readonly train: number },
): number {
  return (price.prefill * (prefilled + scored) + price.sample * sampled + price.train * trained) / 1e6;
}

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
