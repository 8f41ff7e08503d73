/**
 * The cache of downloads. Everything below `data` may be deleted while no command runs: it is then downloaded again.
 *
 *     data/hub/HOST/OWNER/NAME/        which files a revision has
 *     data/blobs/                      contents, by checksum
 *     data/downloads/                  partial contents, to be resumed
 *     data/problems/                   rows in their common form
 *     data/solutions/                  which problems fail their own tests, by digest of a split's problems
 *     data/placed/OWNER/NAME/          files put there by a person, for machines without a network
 */
import os from "node:os";
import path from "node:path";

export interface CacheLayout {
  readonly root: string;
  readonly hub: string;
  readonly blobs: string;
  readonly downloads: string;
  readonly problems: string;
  readonly solutions: string;
  readonly placed: string;
}

/** `TROUPE_CACHE`, or `troupe` in the user's cache folder (`XDG_CACHE_HOME`, else `~/.cache`). */
export function cacheRoot(environment: NodeJS.ProcessEnv = process.env): string {
  const own = environment["TROUPE_CACHE"];
  if (own) return path.resolve(own);
  const given = environment["XDG_CACHE_HOME"];
  // The XDG specification says to ignore relative paths.
  const base = given && path.isAbsolute(given) ? given : path.join(os.homedir(), ".cache");
  return path.join(base, "troupe");
}

export function cacheLayout(root: string = cacheRoot()): CacheLayout {
  const at = (name: string) => path.join(root, "data", name);
  return {
    root,
    hub: at("hub"),
    blobs: at("blobs"),
    downloads: at("downloads"),
    problems: at("problems"),
    solutions: at("solutions"),
    placed: at("placed"),
  };
}
