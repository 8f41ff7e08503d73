/** The hosted service: adapters of scale 32 on the attention, the layer between, or both. */
import { capabilities, parts, remote } from "./base.ts";
import type { Profile } from "./profile.ts";

export const hosted: Profile = {
  ...remote,
  title: "Tinker",
  startedBy: "service",
  capabilities: {
    ...capabilities,
    copy: true,
    limits: { adapterAlpha: 32, adapterModules: parts, servedBases: true },
  },
};
