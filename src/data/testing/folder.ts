/** A folder for one test file, removed at its end. */
import { mkdtempSync } from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll } from "vitest";
import { cacheLayout, type CacheLayout } from "../cache.ts";

export function temporaryFolder(): string {
  const folder = mkdtempSync(path.join(tmpdir(), "troupe-data-"));
  afterAll(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

let caches = 0;

/** An empty cache, below the folder. */
export function freshCache(folder: string): CacheLayout {
  return cacheLayout(path.join(folder, `cache-${caches++}`));
}
