/** The engine that a recipe asks for. */
import type { Engine } from "../engines/engine.ts";
import { LocalEngine } from "../engines/local/local-engine.ts";
import type { Recipe } from "./schema.ts";

/** Whoever opens it closes it. @throws TroupeError `no_engine` where the native addon is missing */
export function openEngine({ threads, precision }: Recipe["engine"]): Engine {
  return new LocalEngine({ threads, ...(precision === "auto" ? {} : { precision }) });
}
