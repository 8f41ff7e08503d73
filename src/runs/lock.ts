/**
 * One process writes a run. A process that wants to writes a file that identifies it (process id, start time, machine,
 * and the container's process ids, if it has its own)
 * and then looks for other such files: because everybody writes before looking, at most one of two finds itself alone.
 * (A file still empty when another process removes it belongs to one that has not looked yet, and will find the other.)
 * Two simultaneous attempts may both be rejected. The start time distinguishes a killed holder from a process that got
 * its id later.
 */
import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { readFileSync, readlinkSync } from "node:fs";
import fs from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { TroupeError } from "../errors.ts";
import { ifPresent } from "../present.ts";
import { showText } from "../format.ts";
import { writing } from "./durable.ts";
import { readRegular } from "./regular.ts";

interface Holder {
  readonly pid: number;
  readonly started: string;
  readonly host: string;
  /** Of the process id. */
  readonly namespace: string;
}

export interface Lock {
  /** Never fails: a file that cannot be removed identifies a process that will end, and is removed later. */
  release(): Promise<void>;
}

export interface Locked {
  readonly name: string;
  /** What to use while another process writes there. Absent: nothing else will do. */
  readonly instead?: string;
}

/** Prefix of lock files. */
export const lockPrefix = "lock-";

/**
 * Takes the lock of a folder; removes files of dead holders. @param what for messages, and what to use instead
 * @throws TroupeError `in_use` if a live process holds it
 */
export async function acquireLock(directory: string, what: Locked = { name: "run" }): Promise<Lock> {
  const { pid } = process;
  const self: Holder = { pid, started: startTime(pid) ?? "", host: os.hostname(), namespace };
  const file = path.join(directory, `${lockPrefix}${pid}-${randomBytes(4).toString("hex")}`);
  await writing(file, () => fs.writeFile(file, JSON.stringify(self)));
  const release = () => fs.rm(file, { force: true }).catch(() => {});
  try {
    await rejectOthers(directory, path.basename(file), what);
  } catch (error) {
    await release();
    throw error;
  }
  return { release };
}

/** Whether a live process holds the folder's lock. */
export async function isLocked(directory: string): Promise<boolean> {
  const holders = await readHolders(directory);
  return holders.some(({ holder }) => holder !== null && isAlive(holder));
}

async function rejectOthers(directory: string, own: string, what: Locked): Promise<void> {
  for (const { name, holder } of await readHolders(directory)) {
    if (name === own) continue;
    const file = path.join(directory, name);
    if (holder !== null && isAlive(holder)) throw held(file, holder, what);
    await writing(file, () => fs.rm(file, { force: true }));
  }
}

function held(file: string, holder: Holder, { name, instead }: Locked): TroupeError {
  const elsewhere = placeOf(holder);
  const fix = elsewhere === null ? "wait for it, or stop it" : `if it no longer writes there, delete ${file}`;
  return new TroupeError(
    "in_use",
    `The ${name} ${path.dirname(file)} is being written by process ${holder.pid}${elsewhere ?? ""}: ` +
      `${fix}${instead === undefined ? "" : `, or use ${instead}`}.`,
  );
}

/** Null: where its process id means what it means here. */
function placeOf({ host, namespace: other }: Holder): string | null {
  if (host !== os.hostname()) return ` on ${showText(host, 100)}`;
  return other === namespace ? null : " of another container";
}

/** Containers count processes from 1 each, and may share a host name. Empty where there is no such thing. */
export const namespace = namespaceOfProcess();

function namespaceOfProcess(): string {
  try {
    return process.platform === "linux" ? readlinkSync("/proc/self/ns/pid") : "";
  } catch {
    return "";
  }
}

async function readHolders(directory: string): Promise<{ name: string; holder: Holder | null }[]> {
  const entries = (await ifPresent(directory, () => fs.readdir(directory, { withFileTypes: true }))) ?? [];
  const locks = entries.filter((entry) => entry.isFile() && entry.name.startsWith(lockPrefix));
  return Promise.all(
    locks.map(async ({ name }) => ({ name, holder: await readHolder(path.join(directory, name)) })),
  );
}

/** Null: released since, or not written by a lock's holder. @throws TroupeError: the holder may live and write */
async function readHolder(file: string): Promise<Holder | null> {
  const bytes = await ifPresent(file, readRegular);
  if (bytes === null) return null;
  try {
    const value = JSON.parse(bytes.toString("utf8")) as Partial<Holder> | null;
    const valid = Number.isSafeInteger(value?.pid) && typeof value?.started === "string";
    const placed = typeof value?.host === "string" && typeof value.namespace === "string";
    return valid && placed ? (value as Holder) : null;
  } catch {
    return null;
  }
}

/** A process on another machine, or in another container, cannot be checked and counts as alive. */
function isAlive(holder: Holder): boolean {
  if (placeOf(holder) !== null) return true;
  return startTime(holder.pid) === holder.started;
}

/** When the process started, as the system reports it; null if there is no such process. */
export function startTime(pid: number): string | null {
  try {
    if (process.platform === "linux") return linuxStartTime(pid);
    if (process.platform === "win32") return windowsStartTime(pid);
    return execFileSync("ps", ["-o", "lstart=", "-p", String(pid)], { encoding: "utf8" }).trim() || null;
  } catch {
    return null;
  }
}

/** Ticks since boot (field 22; the name before it may contain blanks and brackets), and which boot. */
function linuxStartTime(pid: number): string | null {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  if (fields[0] === "Z") return null;
  return `${readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim()}:${fields[19]}`;
}

/** Windows reports start times only through a subprocess; there, only the process's existence is checked. */
function windowsStartTime(pid: number): string {
  process.kill(pid, 0);
  return "alive";
}
