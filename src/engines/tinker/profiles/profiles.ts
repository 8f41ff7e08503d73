/** The table of server kinds. */
import type { Profile } from "./profile.ts";
import { troupe } from "./troupe.ts";

export const profiles = { troupe } as const satisfies Readonly<Record<string, Profile>>;

export type ProfileName = keyof typeof profiles;
