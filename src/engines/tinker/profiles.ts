/**
 * How a kind of server differs from others. The protocol is the same; what it computes and keeps is not. What a profile
 * does not list is rejected before training starts.
 */
import { projections } from "../../models/adapter-options.ts";
import type { EngineCapabilities, Loss } from "../engine.ts";
import type { EngineServers } from "../kind.ts";
import { localCapabilities } from "../local/local-engine.ts";

export interface Profile {
  /** For people. */
  readonly title: string;
  /** Whether it was run against the server that it describes (docs/gpu-and-servers.md); the others follow the server's sources. */
  readonly ran: boolean;
  /** Who starts such servers: `troupe cluster`, a service that is paid by the token, or somebody with any machine. */
  readonly startedBy: EngineServers["startedBy"];
  readonly encoding: "protobuf" | "json";
  readonly capabilities: EngineCapabilities;
  /**
   * `engine`: data with every number of the engine's losses and the prompts that continuations share, and results with
   * sums. `plain`: the protocol's own; results are computed here.
   */
  readonly data: "engine" | "plain";
  /**
   * How an adapter is asked for. `shape`: with its scale and projections; `parts`: attention, layer between, or both;
   * `peft`: parts, with a scale and without dropout, in PEFT's words.
   */
  readonly adapters: "shape" | "parts" | "peft";
  /** A model can be made from saved weights; otherwise they are loaded into a new one. */
  readonly createsFromWeights: boolean;
  /** Models can be made from what was saved for sampling, without the optimizer's state. */
  readonly loadsSamplerWeights: boolean;
  /** Saved adapters come with the whole model. Absent: false. */
  readonly savesWithModel?: boolean;
  /** Saved weights know their model and adapter; otherwise references to them say it. */
  readonly describesWeights: boolean;
  /** Its saved weights are folders, called by name; they have the optimizer's state if that is asked for. Absent: false. */
  readonly savesFolders?: boolean;
  /** A request that is sent twice takes effect twice: one without an answer is not repeated. Absent: false. */
  readonly countsRepeats?: boolean;
  /** Models stay until the server ends. Absent: false. */
  readonly keepsModels?: boolean;
  /** It has no passes without gradients: those of sequences that weigh nothing take their place. Absent: false. */
  readonly lacksForward?: boolean;
  /** Only the learning rate of steps after a model's first one counts. Absent: false. */
  readonly keepsAdam?: boolean;
  /** Samples go on with padding after their end, and all say that they stopped. Absent: false. */
  readonly padsSamples?: boolean;
  /** Requests can be cancelled. */
  readonly cancels: boolean;
  /** Generation can stop at tokens and at texts in one request. */
  readonly bothStops: boolean;
  /** Seeds of samples are taken modulo this. */
  readonly seedsBelow: number;
  /**
   * Losses that the server computes itself, without options of the engine interface. Others are replaced by their
   * linear surrogate: log-probabilities first, then `importance_sampling` at ratio 1 with −dL/dlogp as advantages, whose
   * gradient is the loss's own.
   */
  readonly native: readonly Loss["type"][];
  /**
   * `mean`: the server divides a sequence's loss by its number of tokens, and the gradient by the number of sequences of
   * the step. The client multiplies advantages by both, so a step is one forward_backward.
   */
  readonly reduction: "sum" | "mean";
  /**
   * What a sampling session samples from: `inflight`: the model's weights at that time, on request; `snapshot`: those
   * when it was asked for; `last`: those of the latest session of the model; `live`: the model's weights at that time.
   */
  readonly snapshots: "inflight" | "snapshot" | "last" | "live";
  /** How a model without an adapter is asked for. */
  readonly wholeModel: "no lora_config" | "rank 0";
  /** When saved weights can be loaded into a model. */
  readonly load: "any time" | "first request";
  /** In one forward_backward, unless the server announces its own. */
  readonly chunkData: number;
  readonly chunkBytes: number;
}

/** Critics need a value head that no other server has in this form; stop texts need stop tokens beside them. */
const capabilities: EngineCapabilities = {
  wholeModel: false,
  adapters: true,
  losses: ["cross_entropy", "importance_sampling", "ppo", "cispo"],
  topK: true,
  stopStrings: false,
  entropy: false,
  gradientNorm: false,
  critic: false,
  klInLoss: true,
  sequenceRatio: true,
  dualClip: true,
};

const remote: Omit<Profile, "title"> = {
  ran: false,
  startedBy: "cluster",
  encoding: "protobuf",
  capabilities,
  data: "plain",
  adapters: "parts",
  createsFromWeights: false,
  loadsSamplerWeights: false,
  describesWeights: false,
  cancels: false,
  bothStops: false,
  // SkyRL's JAX backend keeps seeds as int32.
  seedsBelow: 2 ** 31,
  native: ["cross_entropy", "importance_sampling", "ppo"],
  reduction: "sum",
  snapshots: "snapshot",
  wholeModel: "rank 0",
  load: "any time",
  chunkData: 1024,
  chunkBytes: 5_000_000,
};

/** An adapter has all projections. */
const allModules: readonly (readonly string[])[] = [projections];

/** An adapter has those of the attention, of the layer between, or both. */
const parts: readonly (readonly string[])[] = [projections.slice(0, 4), projections.slice(4)];

const troupe: Profile = {
  title: "Troupe",
  ran: true,
  startedBy: "anyone",
  encoding: "protobuf",
  capabilities: { ...localCapabilities, top: false }, // of prompts that are sampled, not of data
  data: "engine",
  adapters: "shape",
  createsFromWeights: true,
  loadsSamplerWeights: true,
  describesWeights: true,
  cancels: true,
  bothStops: true,
  seedsBelow: 2 ** 53,
  native: localCapabilities.losses,
  reduction: "sum",
  snapshots: "inflight",
  wholeModel: "no lora_config",
  load: "any time",
  chunkData: 16_384,
  chunkBytes: 2 ** 26,
};

/**
 * SkyRL with the JAX backend (commit a9564572e). Sequences and steps are averaged; weights of either sign, and with them
 * cross_entropy, are not computed as documented, so it is always replaced. An older sampler would overwrite the model,
 * which never happens here: a policy has one sampler.
 */
const skyrlJax: Profile = {
  ...remote,
  title: "SkyRL (JAX)",
  ran: true,
  encoding: "json",
  capabilities: {
    ...capabilities,
    topK: false,
    limits: {
      adam: { clipNorm: 0 },
      adapterAlpha: 32,
      adapterModules: allModules,
      servedBases: true,
      policies: 31,
    },
  },
  native: ["importance_sampling", "ppo"],
  reduction: "mean",
  savesWithModel: true,
  snapshots: "last",
  load: "first request",
};

/** AdamW as the backends have it that share SkyRL's trainer. */
const trainerAdam = {
  beta1: 0.9,
  beta2: 0.999,
  epsilon: 1e-8,
  weightDecay: 0.01,
  clipNorm: 1,
} as const;

/**
 * SkyRL with the FSDP backend (commit a9564572e): one policy per server, whole or an adapter. A step sets only the
 * learning rate; the rest are the server's defaults.
 */
const skyrlFsdp: Profile = {
  ...remote,
  title: "SkyRL (FSDP)",
  encoding: "json",
  capabilities: {
    ...capabilities,
    wholeModel: true,
    limits: {
      adam: trainerAdam,
      adapterAlpha: 32,
      adapterModules: allModules,
      servedBases: true,
      policies: 1,
    },
  },
  savesWithModel: true,
  snapshots: "last",
  load: "first request",
};

/** The hosted service: adapters of scale 32 on the attention, the layer between, or both. */
const hosted: Profile = {
  ...remote,
  title: "Tinker",
  startedBy: "service",
  capabilities: {
    ...capabilities,
    copy: true,
    limits: { adapterAlpha: 32, adapterModules: parts, servedBases: true },
  },
};

/**
 * open-rl with its sampler on torch (commit bfc0f090b). Top-p, top-k, stops and seeds have no effect on its samples, and
 * norms are over all of its adapters. Its loss `ppo` knows one bound for both sides, so it is replaced.
 */
const openRl: Profile = {
  ...remote,
  title: "open-rl",
  ran: true,
  startedBy: "anyone",
  encoding: "json",
  capabilities: {
    ...capabilities,
    topK: false,
    topP: false,
    limits: { adam: { clipNorm: 0 }, adapterModules: parts, servedBases: true },
  },
  adapters: "peft",
  native: ["cross_entropy", "importance_sampling"],
  snapshots: "live",
  savesFolders: true,
  countsRepeats: true,
  keepsModels: true,
  lacksForward: true,
  keepsAdam: true,
  padsSamples: true,
};

export const profiles = {
  troupe,
  hosted,
  "open-rl": openRl,
  "skyrl-jax": skyrlJax,
  "skyrl-fsdp": skyrlFsdp,
} as const satisfies Readonly<Record<string, Profile>>;

export type ProfileName = keyof typeof profiles;
