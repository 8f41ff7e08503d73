/** Models in the hub's cache of this machine, where the hub's own tools put what they download. */
import { readFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { isPresentSync } from "../../present.ts";

/** Whether it has the form of a model's name on the hub. */
export function mayBeOnHub(name: string): boolean {
  return /^\w[\w.-]*\/\w[\w.-]*$/.test(name);
}

/** Null: no name of the hub, or not in the cache. The newest commit that was fetched of the main branch. */
export function cachedModel(
  name: string | null | undefined,
  environment: NodeJS.ProcessEnv = process.env,
): string | null {
  // A server's answer must not lead out of the cache.
  if (!name || !mayBeOnHub(name)) return null;
  const { HF_HUB_CACHE: hub, HF_HOME: home } = environment;
  const cache = hub || join(home || join(homedir(), ".cache", "huggingface"), "hub");
  const folder = join(cache, `models--${name.replace("/", "--")}`);
  const main = join(folder, "refs", "main");
  const commit = isPresentSync(main) ? readFileSync(main, "utf8").trim() : "";
  return /^[0-9a-f]{40}$/.test(commit) ? join(folder, "snapshots", commit) : null;
}
