/** The table of server kinds. */
import { hosted } from "./hosted.ts";
import type { Profile } from "./profile.ts";
import { skyrlFsdp } from "./skyrl-fsdp.ts";
import { skyrlJax } from "./skyrl-jax.ts";
import { troupe } from "./troupe.ts";

export const profiles = {
  troupe,
  hosted,
  "skyrl-jax": skyrlJax,
  "skyrl-fsdp": skyrlFsdp,
} as const satisfies Readonly<Record<string, Profile>>;

export type ProfileName = keyof typeof profiles;
