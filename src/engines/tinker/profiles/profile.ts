/**
 * How a kind of server differs from others. The protocol is the same; what it computes and keeps is not. What a profile
 * does not list is rejected before training starts.
 */
import type { EngineCapabilities } from "../../engine.ts";

export interface Profile {
  /** For people. */
  readonly title: string;
  readonly encoding: "protobuf" | "json";
  readonly capabilities: EngineCapabilities;
  /**
   * Whether it has Troupe's own fields: numbers of every loss, prompts that continuations share, metrics of a loss,
   * sizes of a model, adapters of any shape.
   */
  readonly isTroupe: boolean;
  /**
   * `mean`: the server divides each sequence's loss by its number of tokens, and the sum by the number of sequences of an
   * optimizer step, which the client undoes.
   */
  readonly reduction: "sum" | "mean";
  /** Whether the thresholds of `ppo` are honoured; otherwise 0.8 and 1.2 are all that a recipe can have. */
  readonly clip: "any" | "default";
  /** Fields of the optimizer that a step sets; the others must have the values given here. `null`: not known here. */
  readonly optimizer: {
    readonly beta1?: number | null;
    readonly beta2?: number | null;
    readonly epsilon?: number | null;
    readonly weightDecay?: number | null;
    readonly clipNorm?: number | null;
  };
  /**
   * What a sampling session samples from: `inflight`: the model's weights at that time, on request; `snapshot`: those
   * at the time of the request for it; `last`: those of the last such request; `serial`: like `last`, and sampling an
   * older one damages training.
   */
  readonly snapshots: "inflight" | "snapshot" | "last" | "serial";
  readonly adapters: {
    /** `any`, or the only scale that the server has. */
    readonly alpha: "any" | number;
    /** Whether all of a server's adapters need the same rank. */
    readonly hasEqualRanks: boolean;
    /** Policies of one server. */
    readonly most: number;
  };
  /** How a model without an adapter is asked for; null: not supported. */
  readonly wholeModel: "no lora_config" | "rank 0" | null;
  /** When saved weights can be loaded into a model. */
  readonly load: "any time" | "first request";
  /** Whether a base model's log-probabilities can be had beside the policies', for a reference. */
  readonly reference: boolean;
  /** Whether the first of the prompt's log-probabilities is that of its first token (null), or of its second. */
  readonly promptOffset: 0 | 1;
  /** Whether a result can be retrieved only once. */
  readonly isRetrievedOnce: boolean;
  /** In one forward_backward, unless the server announces its own. */
  readonly chunkData: number;
  readonly chunkBytes: number;
}
