import { exportOf, isObject } from "./exported.ts";
import { loadModule } from "./load-module.ts";

/**
 * Whether a module exports an environment or an algorithm. What is neither is taken for an environment, whose own checks say
 * what is wrong with it.
 * @param folder from which the module is seen
 * @throws ModuleError where it cannot be loaded or has no such export
 */
export async function kindOfModule(
  module: string,
  exported: string | undefined,
  folder: string,
): Promise<"environment" | "algorithm"> {
  const loaded = await loadModule(module, folder);
  const found = exportOf(loaded.exported, module, exported, "an environment's definition");
  return isObject(found) && typeof found["build"] === "function" ? "algorithm" : "environment";
}
