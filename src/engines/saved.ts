/** Looking into what engines have saved, as far as anybody but the engine may. */
import path from "node:path";
import type { StoredPolicy } from "./engine.ts";

/** The directory that other programs can load; null: the engine keeps the weights elsewhere. */
export function savedDirectory({ saved, folder }: StoredPolicy): string | null {
  return saved.directory === null ? null : path.join(folder, saved.directory);
}
