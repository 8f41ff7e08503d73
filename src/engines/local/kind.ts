/** The local engine: in this process, on the CPU. */
import type { z } from "zod";
import type { EngineKind } from "../kind.ts";
import { localCapabilities } from "./capabilities.ts";
import { LocalEngine } from "./local-engine.ts";
import { localSettings } from "./settings.ts";

export const localKind = {
  options: localSettings,
  capabilities: () => localCapabilities,
  open: ({ threads, precision }) =>
    new LocalEngine({ threads, ...(precision === "auto" ? {} : { precision }) }),
} satisfies EngineKind<z.output<typeof localSettings>>;
