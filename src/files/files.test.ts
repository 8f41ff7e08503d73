import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import * as fc from "fast-check";
import { afterAll, describe, expect, it } from "vitest";
import { folderFiles } from "./folder.ts";
import { memoryFiles } from "./memory.ts";
import { hashOfBytes, storeFile } from "./store.ts";

const folder = mkdtempSync(path.join(tmpdir(), "troupe-files-"));
afterAll(() => rmSync(folder, { recursive: true }));

const stores = [
  ["in memory", memoryFiles()],
  ["in a folder", folderFiles(path.join(folder, "any"))],
] as const;

describe.each(stores)("files %s", (_, store) => {
  it("give back what was stored, by the hash of its contents", async () => {
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 300 }), async (bytes) => {
        const { hash, size } = await storeFile(store, bytes);
        expect([hash, size]).toEqual([hashOfBytes(bytes), bytes.length]);
        expect(Buffer.from(await store.get(hash))).toEqual(Buffer.from(bytes));
      }),
      { numRuns: 30 },
    );
  });

  it("say which contents are missing", async () => {
    await expect(store.get("a".repeat(64))).rejects.toMatchObject({ code: "bad_run" });
  });
});

describe("files in a folder", () => {
  it("are written once, whoever stores them at the same time", async () => {
    const place = path.join(folder, "once");
    const store = folderFiles(place);
    const bytes = Buffer.from("the same");
    const hashes = await Promise.all([store.put(bytes), store.put(bytes), store.put(bytes)]);
    const [hash] = hashes;
    expect(new Set(hashes).size).toBe(1);
    expect(readdirSync(path.join(place, hash.slice(0, 2)))).toEqual([hash]);
  });

  it("are checked when read", async () => {
    const place = path.join(folder, "damaged");
    const store = folderFiles(place);
    const hash = await store.put(Buffer.from("right"));
    writeFileSync(path.join(place, hash.slice(0, 2), hash), "wrong");
    await expect(store.get(hash)).rejects.toMatchObject({ code: "bad_run" });
    // The program has run again: the error's advice.
    await store.put(Buffer.from("right"));
    expect(Buffer.from(await store.get(hash)).toString()).toBe("right");
  });

  it("say which folder is in the place of a file", async () => {
    const place = path.join(folder, "blocked");
    const bytes = Buffer.from("a");
    const hash = hashOfBytes(bytes);
    mkdirSync(path.join(place, hash.slice(0, 2), hash), { recursive: true });
    await expect(folderFiles(place).put(bytes)).rejects.toMatchObject({
      code: "bad_run",
      message: expect.stringMatching(
        /is a folder, where a run keeps the contents of a file: remove it$/,
      ) as string,
    });
  });

  it("are not changed by files in memory above them", async () => {
    const place = path.join(folder, "below");
    const below = folderFiles(place);
    const old = await below.put(Buffer.from("old"));
    const store = memoryFiles(below);
    const added = await store.put(Buffer.from("new"));
    expect(Buffer.from(await store.get(old)).toString()).toBe("old");
    expect(Buffer.from(await store.get(added)).toString()).toBe("new");
    expect(existsSync(path.join(place, added.slice(0, 2), added))).toBe(false);
  });
});
