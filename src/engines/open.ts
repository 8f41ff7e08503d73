/** The kinds of engines, and how to open one. */
import { z } from "zod";
import { checkArgument } from "../arguments.ts";
import { TroupeError } from "../errors.ts";
import type { Engine, EngineCapabilities, Loss } from "./engine.ts";
import { localCapabilities } from "./local/capabilities.ts";
import { localSettings } from "./local/settings.ts";
import { LocalEngine } from "./local/local-engine.ts";
import { isNative } from "./tinker/losses.ts";
import type { Profile } from "./tinker/profiles/profile.ts";
import { profiles } from "./tinker/profiles/profiles.ts";
import { TinkerEngine } from "./tinker/tinker-engine.ts";
import { tinkerSettings } from "./tinker/settings.ts";
import type { EngineSettings, EngineSettingsInput } from "./settings.ts";

/** Capabilities of each kind of engine, known without starting one, so that recipes can be checked anywhere. */
export const engineKinds: Readonly<Record<string, EngineCapabilities>> = {
  local: localCapabilities,
  ...Object.fromEntries(
    Object.entries(profiles).map(([name, { capabilities }]) => [tinkerKind(name), capabilities]),
  ),
};

/** The policies of each server, in the recipe's order; the local engine is one. */
export function policiesByServer(
  settings: EngineSettings,
  policies: readonly string[],
): readonly (readonly string[])[] {
  if (settings.type !== "tinker") return [policies];
  return [...Map.groupBy(policies, (policy) => settings.servers[policy] ?? settings.url).values()];
}

/** The kind that settings ask for. */
export function kindOf(settings: EngineSettings): string {
  return settings.type === "tinker" ? tinkerKind(settings.profile) : settings.type;
}

/** Whether such a loss costs another forward pass, which its linear surrogate starts from. */
export function needsSurrogate(settings: EngineSettings, loss: Loss): boolean {
  if (settings.type !== "tinker") return false;
  const profile: Profile = profiles[settings.profile];
  return profile.data === "plain" && !isNative(loss, profile);
}

function tinkerKind(profile: string): string {
  return `tinker, profile ${profile}`;
}

export interface OpenOptions {
  /** Name of the run, for people who list sessions and weights at a server. */
  readonly run?: string;
}

/**
 * The caller closes it.
 * @param given a recipe's `engine`; missing settings get their defaults
 * @throws TroupeError `bad_arguments` for an unknown type or invalid settings, `no_engine`
 */
export function openEngine(given: EngineSettingsInput = {}, options: OpenOptions = {}): Engine {
  checkArgument("engine settings", typed, given);
  return openers[given.type ?? "local"](given, options);
}

const typed = z.object({ type: z.enum(["local", "tinker"], "expected local or tinker").optional() });

const openers = {
  local: (given: EngineSettingsInput) => openLocal(checked(localSettings, given)),
  tinker: (given: EngineSettingsInput, options: OpenOptions) =>
    openTinker(checked(tinkerSettings, given), options),
} as const;

function checked<Settings>(schema: z.ZodType<Settings>, given: EngineSettingsInput): Settings {
  const settings = schema.safeParse(given);
  if (settings.success) return settings.data;
  throw new TroupeError("bad_arguments", `engine settings: ${z.prettifyError(settings.error)}`);
}

function openLocal({ threads, precision }: SettingsOf<"local">): Engine {
  return new LocalEngine({ threads, ...(precision === "auto" ? {} : { precision }) });
}

function openTinker(
  { profile, keyVariable, ...settings }: SettingsOf<"tinker">,
  options: OpenOptions,
): Engine {
  const key = process.env[keyVariable];
  return new TinkerEngine({ ...settings, ...options, profile: profiles[profile], key });
}

type SettingsOf<Type extends EngineSettings["type"]> = Extract<EngineSettings, { readonly type: Type }>;
