/** `troupe serve` with the local engine: everything that the engine itself supports. */
import { localCapabilities } from "../../local/capabilities.ts";
import type { Profile } from "./profile.ts";

export const troupe: Profile = {
  title: "Troupe",
  encoding: "protobuf",
  capabilities: localCapabilities,
  isTroupe: true,
  reduction: "sum",
  clip: "any",
  optimizer: {},
  snapshots: "inflight",
  adapters: { alpha: "any", hasEqualRanks: false, most: 50 },
  wholeModel: "no lora_config",
  load: "any time",
  reference: true,
  promptOffset: 0,
  isRetrievedOnce: false,
  chunkData: 16_384,
  chunkBytes: 2 ** 26,
};
