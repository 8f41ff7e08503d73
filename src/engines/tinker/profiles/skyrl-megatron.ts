/** SkyRL with the Megatron backend (commit a9564572e): several adapters of one rank. */
import { allModules, capabilities, remote } from "./base.ts";
import { trainerAdam } from "./skyrl-fsdp.ts";
import type { Profile } from "./profile.ts";

export const skyrlMegatron: Profile = {
  ...remote,
  title: "SkyRL (Megatron)",
  encoding: "json",
  capabilities: {
    ...capabilities,
    limits: {
      adam: trainerAdam,
      adapterAlpha: 32,
      adapterModules: allModules,
      servedBases: true,
      equalRanks: true,
    },
  },
  savesWithModel: true,
  snapshots: "last",
  load: "first request",
};
