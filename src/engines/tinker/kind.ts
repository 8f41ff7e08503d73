/** Servers of the Tinker protocol; a profile says how each kind differs. */
import type { EngineKind } from "../kind.ts";
import { isNative } from "./losses.ts";
import type { Profile } from "./profiles/profile.ts";
import { profiles } from "./profiles/profiles.ts";
import { serverWeights } from "./server-weights.ts";
import { tinkerSettings, type TinkerSettings } from "./settings.ts";
import { TinkerEngine } from "./tinker-engine.ts";

export const tinkerKind = {
  options: tinkerSettings,
  capabilities: (settings) => profileOf(settings).capabilities,
  open: ({ profile, keyVariable, ...settings }, options) => {
    const key = process.env[keyVariable];
    return new TinkerEngine({ ...settings, ...options, profile: profiles[profile], key });
  },
  variant: ({ profile }) => ` with the profile \`${profile}\``,
  warnings: (settings) => {
    if (profileOf(settings).ran) return [];
    const problem = `\`${settings.profile}\` was never run against a server of this kind; it follows the server's sources`;
    return [{ key: "profile", problem, fix: "try a step before a long run, with train.steps=1" }];
  },
  // The linear surrogate of a loss starts from log-probabilities.
  needsForward: (settings, loss) => {
    const profile = profileOf(settings);
    return profile.data === "plain" && !isNative(loss, profile);
  },
  servers: (settings) => ({
    startedBy: profileOf(settings).startedBy,
    software: settings.profile,
    policies: Object.keys(settings.servers),
    urlOf: (policy) => settings.servers[policy] ?? settings.url,
    modelName: (directory) => settings.models[directory] ?? directory,
    weights: serverWeights(settings),
  }),
} satisfies EngineKind<TinkerSettings>;

function profileOf({ profile }: Pick<TinkerSettings, "profile">): Profile {
  return profiles[profile];
}
