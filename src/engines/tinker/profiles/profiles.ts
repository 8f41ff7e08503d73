/** The table of server kinds. */
import { hosted } from "./hosted.ts";
import type { Profile } from "./profile.ts";
import { skyrlFsdp } from "./skyrl-fsdp.ts";
import { skyrlJax } from "./skyrl-jax.ts";
import { skyrlMegatron } from "./skyrl-megatron.ts";
import { troupe } from "./troupe.ts";
import { tuft } from "./tuft.ts";
import { verl } from "./verl.ts";

export const profiles = {
  troupe,
  hosted,
  "skyrl-jax": skyrlJax,
  "skyrl-fsdp": skyrlFsdp,
  "skyrl-megatron": skyrlMegatron,
  verl,
  tuft,
} as const satisfies Readonly<Record<string, Profile>>;

export type ProfileName = keyof typeof profiles;
