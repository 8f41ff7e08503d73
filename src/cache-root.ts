/** The folder of everything that Troupe downloads. */
import os from "node:os";
import path from "node:path";

/** `TROUPE_CACHE`, or `troupe` in the user's cache folder (`XDG_CACHE_HOME`, else `~/.cache`). */
export function cacheRoot(environment: NodeJS.ProcessEnv = process.env): string {
  const own = environment["TROUPE_CACHE"];
  if (own) return path.resolve(own);
  const given = environment["XDG_CACHE_HOME"];
  // The XDG specification says to ignore relative paths.
  const base = given && path.isAbsolute(given) ? given : path.join(os.homedir(), ".cache");
  return path.join(base, "troupe");
}
