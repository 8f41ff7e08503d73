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
import path from "node:path";
import { cacheRoot } from "../../cache-root.ts";
import { makeDirectory, writing } from "../../runs/durable.ts";

export interface CacheLayout {
  readonly root: string;
  readonly hub: string;
  readonly blobs: string;
  readonly downloads: string;
  readonly problems: string;
  readonly solutions: string;
  readonly placed: string;
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

/** Writes to the cache. If one fails, the error says that repeating the command resumes. */
const resumes = "what was downloaded is kept, and the download resumes where it stopped";

export function writingCache<T>(target: string, write: () => Promise<T>): Promise<T> {
  return writing(target, write, resumes);
}

export function makeCacheDirectory(directory: string): Promise<void> {
  return makeDirectory(directory, resumes);
}
