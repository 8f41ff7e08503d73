/** TuFT 0.2.2: adapters whose alpha is twice their rank, the default of its `lora_alpha_ratio`. */
import { capabilities, parts, remote } from "./base.ts";
import type { Profile } from "./profile.ts";

export const tuft: Profile = {
  ...remote,
  title: "TuFT",
  capabilities: {
    ...capabilities,
    copy: true,
    limits: { adapterAlphaPerRank: 2, adapterModules: parts, servedBases: true },
  },
};
