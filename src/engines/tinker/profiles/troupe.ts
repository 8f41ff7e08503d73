/** `troupe serve` with the local engine: everything that the engine itself supports. */
import { localCapabilities } from "../../local/capabilities.ts";
import type { Profile } from "./profile.ts";

export const troupe: Profile = {
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
