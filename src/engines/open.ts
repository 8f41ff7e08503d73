/** The engines there are, by type: what each can do, known without starting one, and how to start it. */
import type { Engine, EngineCapabilities } from "./engine.ts";
import { localCapabilities } from "./local/capabilities.ts";
import { LocalEngine } from "./local/local-engine.ts";

/** As the `engine` of a recipe. */
export interface EngineSettings {
  /** local: in this process, on the processor. */
  readonly type: "local";
  /** 0: as many as the processor has. */
  readonly threads: number;
  /** Of matrix products; auto: bfloat16 where the processor has units for it. */
  readonly precision: "auto" | "float32" | "bfloat16";
}

export const engineTypes: Readonly<Record<EngineSettings["type"], EngineCapabilities>> = {
  local: localCapabilities,
};

/** Whoever opens it closes it. @throws TroupeError `no_engine` where the native addon is missing */
export function openEngine({ threads = 0, precision = "auto" }: Partial<EngineSettings> = {}): Engine {
  return new LocalEngine({ threads, ...(precision === "auto" ? {} : { precision }) });
}
