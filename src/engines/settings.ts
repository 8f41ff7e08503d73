/**
 * The `engine` section of a recipe. Each type of engine has its own schema, identified by `type`; several types form a
 * union.
 */
import { z } from "zod";
import { localSettings } from "./local/settings.ts";
import { tinkerSettings } from "./tinker/settings.ts";

export const engineSettings = z.union([localSettings, tinkerSettings]);

export type EngineSettings = z.output<typeof engineSettings>;
export type EngineSettingsInput = z.input<typeof engineSettings>;
