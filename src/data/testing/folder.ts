import path from "node:path";
import { cacheLayout, type CacheLayout } from "../cache.ts";

let caches = 0;

/** An empty cache, below the folder. */
export function freshCache(folder: string): CacheLayout {
  return cacheLayout(path.join(folder, `cache-${caches++}`));
}
