/**
 * verl-recipe's verl_tinker (commit 48ea0a7): one whole model per server. Its importance_sampling caps ratios at 2, so it
 * is used at ratio 1 only, in surrogates.
 */
import { capabilities, remote } from "./base.ts";
import type { Profile } from "./profile.ts";

export const verl: Profile = {
  ...remote,
  title: "verl_tinker",
  encoding: "json",
  capabilities: {
    ...capabilities,
    wholeModel: true,
    adapters: false,
    limits: { adam: { clipNorm: 1 }, policies: 1 },
  },
  native: ["cross_entropy", "ppo"],
  snapshots: "last",
};
