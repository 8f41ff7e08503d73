/**
 * SkyRL with the JAX backend (commit a9564572e). Sequences and steps are averaged; weights of either sign, and with them
 * cross_entropy, are not computed as documented, so it is always replaced. An older sampler would overwrite the model,
 * which never happens here: a policy has one sampler.
 */
import { allModules, capabilities, remote } from "./base.ts";
import type { Profile } from "./profile.ts";

export const skyrlJax: Profile = {
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
