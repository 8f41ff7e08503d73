/** What servers other than Troupe's have in common. */
import { projections } from "../../../models/adapter-options.ts";
import type { EngineCapabilities } from "../../engine.ts";
import type { Profile } from "./profile.ts";

/** Critics need a value head that no other server has in this form; stop texts need stop tokens beside them. */
export const capabilities: EngineCapabilities = {
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

export const remote: Omit<Profile, "title"> = {
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
export const allModules: readonly (readonly string[])[] = [projections];

/** An adapter has those of the attention, of the layer between, or both. */
export const parts: readonly (readonly string[])[] = [projections.slice(0, 4), projections.slice(4)];
