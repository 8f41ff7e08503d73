import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import fs from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { beforeEach, expect, test, vi } from "vitest";
import { temporaryFolder } from "../test-end.ts";
import { acquireLock, isLocked, namespace, startTime } from "./lock.ts";

let directory = "";
beforeEach(() => {
  directory = temporaryFolder();
});

/** Of a process that takes the lock and waits to be killed. */
const holding = () =>
  `import { acquireLock } from ${JSON.stringify(path.join(import.meta.dirname, "lock.ts"))};
  await acquireLock(${JSON.stringify(directory)}); console.log("held"); setInterval(() => {}, 1000);`;
const asModule = ["--input-type=module-typescript", "-e"];

async function killed(child: ReturnType<typeof spawn>): Promise<void> {
  child.kill("SIGKILL");
  await once(child, "exit");
}

test("a second holder is rejected with a message that names the first", async () => {
  const lock = await acquireLock(directory);
  await expect(acquireLock(directory)).rejects.toMatchObject({
    code: "in_use",
    message: expect.stringContaining(`process ${process.pid}`) as string,
  });
  expect(await isLocked(directory)).toBe(true);
  await lock.release();
  expect(await isLocked(directory)).toBe(false);
  await (await acquireLock(directory)).release();
});

test("another process's lock holds while it lives and not after it was killed", async () => {
  const child = spawn(process.execPath, [...asModule, holding()]);
  await once(child.stdout, "data");
  await expect(acquireLock(directory)).rejects.toMatchObject({ code: "in_use" });
  await killed(child);
  expect(await isLocked(directory)).toBe(false);
  await (await acquireLock(directory)).release();
});

test("a process that got a dead holder's id does not hold the lock", async () => {
  const stale = { pid: process.pid, started: "another boot:1", host: os.hostname(), namespace };
  await fs.writeFile(path.join(directory, "lock-1-abcd"), JSON.stringify(stale));
  const lock = await acquireLock(directory);
  await lock.release();
  expect(await fs.readdir(directory)).toEqual([]);
});

test.each(["", "{", "null", '{"pid":"1"}'])("a damaged lock %j is taken over", async (contents) => {
  await fs.writeFile(path.join(directory, "lock-1-abcd"), contents);
  await (await acquireLock(directory)).release();
  expect(await fs.readdir(directory)).toEqual([]);
});

test("another machine's lock is respected, with the way out", async () => {
  const file = path.join(directory, "lock-1-abcd");
  await fs.writeFile(file, JSON.stringify({ pid: 1, started: "x", host: "another-machine", namespace: "" }));
  await expect(acquireLock(directory)).rejects.toThrow(`delete ${file}`);
});

/** A process has process ids of its own, as in a container. */
const isolated = ["--user", "--map-root-user", "--pid", "--fork", "--kill-child", "--mount-proc"];
const canIsolate = spawnSync("unshare", [...isolated, "true"]).status === 0;

test.skipIf(!canIsolate)(
  "a container's lock is respected outside it, although the host is the same",
  async () => {
    const child = spawn("unshare", [...isolated, process.execPath, ...asModule, holding()]);
    await once(child.stdout, "data");
    await expect(acquireLock(directory)).rejects.toThrow(
      /by process \d+ of another container: if it no longer/,
    );
    await killed(child);
  },
);

test("a host with control characters in its name is shown without them", async () => {
  const other = { pid: 1, started: "x", host: "a\u001B[2J\u009B31mb", namespace: "" };
  await fs.writeFile(path.join(directory, "lock-1-abcd"), JSON.stringify(other));
  await expect(acquireLock(directory)).rejects.toThrow(/process 1 on a \[2J 31mb:/);
});

test("a folder that is called like a lock is none", async () => {
  await fs.mkdir(path.join(directory, "lock-me"));
  await (await acquireLock(directory)).release();
  expect(await fs.readdir(directory)).toEqual(["lock-me"]);
});

test("releasing a lock that cannot be removed does not hide the error before it", async () => {
  const lock = await acquireLock(directory);
  const [file = ""] = await fs.readdir(directory);
  await fs.rm(path.join(directory, file));
  await fs.mkdir(path.join(directory, file));
  await expect(lock.release()).resolves.toBeUndefined();
});

test("of many concurrent attempts over a stale lock at most one succeeds, and a later one can", async () => {
  for (let round = 0; round < 10; round++) {
    await fs.writeFile(path.join(directory, "lock-1-abcd"), "{");
    const tries = await Promise.allSettled(Array.from({ length: 8 }, () => acquireLock(directory)));
    const won = tries.filter((attempt) => attempt.status === "fulfilled");
    expect(won.length).toBeLessThanOrEqual(1);
    for (const attempt of won) await attempt.value.release();
    await (await acquireLock(directory)).release();
  }
});

test("only a living process has a start time", () => {
  expect(startTime(process.pid)).toBe(startTime(process.pid));
  expect(startTime(process.pid)).not.toBeNull();
  expect(startTime(2 ** 30)).toBeNull();
});

test("a lock that cannot be read is not taken over", async () => {
  const file = path.join(directory, "lock-1-abcd");
  await fs.writeFile(file, "{}");
  const read = vi.spyOn(fs, "readFile").mockRejectedValue(Object.assign(new Error("EIO"), { code: "EIO" }));
  await expect(acquireLock(directory)).rejects.toMatchObject({ code: "bad_run" });
  read.mockRestore();
  expect(await fs.readdir(directory)).toEqual(["lock-1-abcd"]);
});
