/**
 * How a kind of server differs from others. The protocol is the same; what it computes and keeps is not. What a profile
 * does not list is rejected before training starts.
 */
import type { EngineCapabilities, Loss } from "../../engine.ts";
import type { EngineServers } from "../../kind.ts";

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
  /** How an adapter is asked for. `shape`: with its scale and projections; `parts`: attention, layer between, or both. */
  readonly adapters: "shape" | "parts";
  /** A model can be made from saved weights; otherwise they are loaded into a new one. */
  readonly createsFromWeights: boolean;
  /** Models can be made from what was saved for sampling, without the optimizer's state. */
  readonly loadsSamplerWeights: boolean;
  /** Saved adapters come with the whole model. Absent: false. */
  readonly savesWithModel?: boolean;
  /** Saved weights know their model and adapter; otherwise references to them say it. */
  readonly describesWeights: boolean;
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
   * when it was asked for; `last`: those of the latest session of the model.
   */
  readonly snapshots: "inflight" | "snapshot" | "last";
  /** How a model without an adapter is asked for. */
  readonly wholeModel: "no lora_config" | "rank 0";
  /** When saved weights can be loaded into a model. */
  readonly load: "any time" | "first request";
  /** In one forward_backward, unless the server announces its own. */
  readonly chunkData: number;
  readonly chunkBytes: number;
}
