/** The `engine` section of a recipe, unless it names a module. Each type of engine has its own schema. */
import { z } from "zod";
import { localSettings } from "./local/settings.ts";
import { tinkerSettings } from "./tinker/kind.ts";

export const engineSettings = z.union([localSettings, tinkerSettings]);

export type EngineSettings = z.output<typeof engineSettings>;
export type EngineSettingsInput = z.input<typeof engineSettings>;
