/**
 * SkyRL with the FSDP backend (commit a9564572e): one policy per server, whole or an adapter. A step sets only the
 * learning rate; the rest are the server's defaults.
 */
import { allModules, capabilities, remote } from "./base.ts";
import type { Profile } from "./profile.ts";

/** Of the backends that share SkyRL's trainer. */
export const trainerAdam = {
  beta1: 0.9,
  beta2: 0.999,
  epsilon: 1e-8,
  weightDecay: 0.01,
  clipNorm: 1,
} as const;

export const skyrlFsdp: Profile = {
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
