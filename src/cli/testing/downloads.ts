import { readdir, stat } from "node:fs/promises";
import { basename, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";

/** Resolves when this many bytes of a file that is being downloaded are in the cache. */
export async function untilDownloaded(cache: string, bytes: number): Promise<void> {
  for (;;) {
    const names = await readdir(cache, { recursive: true }).catch(() => []);
    const partial = names.find((name) => basename(name) === "content");
    const found = partial === undefined ? null : await stat(join(cache, partial)).catch(() => null);
    if ((found?.size ?? 0) >= bytes) return;
    await delay(20);
  }
}
