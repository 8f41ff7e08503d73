/** TuFT 0.2: adapters. Whether it clips gradients is not established, so a recipe must not ask for it. */
import { capabilities, parts, remote } from "./base.ts";
import type { Profile } from "./profile.ts";

export const tuft: Profile = {
  ...remote,
  title: "TuFT",
  capabilities: {
    ...capabilities,
    freeze: true,
    limits: { adam: { clipNorm: 0 }, adapterAlpha: 32, adapterModules: parts },
  },
};
