/**
 * How a kind of server differs from others. The protocol is the same; what it computes and keeps is not. What a profile
 * does not list is rejected before training starts.
 */
import type { EngineCapabilities, Loss } from "../../engine.ts";

export interface Profile {
  /** For people. */
  readonly title: string;
  readonly encoding: "protobuf" | "json";
  readonly capabilities: EngineCapabilities;
  /**
   * Whether it has Troupe's own fields: numbers of every loss, prompts that continuations share, metrics of a loss,
   * sizes of a model, adapters of any shape, models made from saved weights.
   */
  readonly isTroupe: boolean;
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
