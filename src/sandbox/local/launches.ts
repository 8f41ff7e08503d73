/** The command lines that create sandboxes on this machine, with the same small root in each. */
import {
  chmodSync,
  chownSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
} from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import type { Launch, WorkerSettings } from "../workers/worker.ts";
import { encodeFilter, filterFor, type FilterKind } from "./filter.ts";
import { noFolder } from "../probe.ts";
import type { Python } from "./python.ts";
import type { Machine } from "./system-calls.ts";

const native = (file: string): string => fileURLToPath(new URL(`../../../native/${file}`, import.meta.url));

export const launcherFile = native("build/launcher");
/** A folder that Python runs: `__main__.py` and its modules. */
export const zygoteFolder = native("launcher/zygote");

/** The user of programs if Troupe runs as root: `nobody`. */
export const ordinaryUser = 65_534;

/** Root who can become the ordinary user. In a user namespace that has no such user, root is as any other user. */
export function isRoot(): boolean {
  if (process.geteuid?.() !== 0) return false;
  const lines = readFileSync("/proc/self/uid_map", "utf8").trim().split("\n");
  return lines.some((line) => {
    const [first = 0, , count = 0] = line.trim().split(/\s+/).map(Number);
    return first <= ordinaryUser && ordinaryUser < first + count;
  });
}

const becoming = (): readonly string[] => (isRoot() ? ["--user", String(ordinaryUser)] : []);

export const pythonFlags = ["-s", "-B"];

export const workerEnvironment: Readonly<Record<string, string>> = {
  PYTHONHASHSEED: "0",
  PYTHONUTF8: "1",
  LANG: "C.UTF-8",
  MALLOC_ARENA_MAX: "2",
};

function environmentFor({ packages }: Python): Readonly<Record<string, string>> {
  return packages.length === 0
    ? workerEnvironment
    : { ...workerEnvironment, PYTHONPATH: packages.join(path.delimiter) };
}

export function bubblewrapLaunch(python: Python, command = "bwrap"): Launch {
  const given = [
    "--unshare-all --unshare-user --die-with-parent --hostname sandbox --clearenv",
    // Root only in its own user namespace, so that the zygote can give each program namespaces; programs have no
    // capability.
    "--uid 0 --gid 0 --cap-add ALL --proc /proc --dev /dev --dir /box --dir /workspace --dir /tmp",
    ...Object.entries(environmentFor(python)).map(([name, value]) => ["--setenv", name, value]),
    ...python.readable.map((one) => ["--ro-bind", one, one]),
    ...python.links.map(([target, place]) => ["--symlink", target, place]),
    ["--ro-bind", zygoteFolder, "/zygote"],
    "--remount-ro / --chdir / --",
    [python.executable, ...pythonFlags, "/zygote"],
  ].flatMap((part) => (typeof part === "string" ? part.split(" ") : part));
  const user = isRoot() ? { user: ordinaryUser } : {};
  // Found on PATH.
  const found = { PATH: process.env["PATH"] ?? "/usr/bin:/bin" };
  return { command, arguments: given, environment: found, ...user, settings: settingsIn(["/"]) };
}

export function launcherLaunch(python: Python): Launch {
  const given = [
    becoming(),
    ...python.readable.map((one) => ["--ro", one]),
    ...python.links.map(([target, place]) => ["--link", target, place]),
    ["--file", zygoteFolder, "/zygote", "--", python.executable, ...pythonFlags, "/zygote"],
  ].flat();
  return {
    command: launcherFile,
    arguments: given,
    environment: environmentFor(python),
    settings: settingsIn(["/"]),
  };
}

/**
 * How much of the processors there is to use. Programs can see that these files exist, and joblib (scikit-learn's n_jobs)
 * fails if they then cannot be read.
 */
export const quotaFiles: readonly string[] = ["cpu.max", "cpu/cpu.cfs_quota_us", "cpu/cpu.cfs_period_us"].map(
  (name) => `/sys/fs/cgroup/${name}`,
);

/** If the kernel permits no namespaces. The caller removes the folder. */
export function landlockLaunch(python: Python): Launch & { readonly scratch: string } {
  removeAbandoned();
  const scratch = scratchFolder();
  const zygote = path.join(scratch, "zygote");
  const given = ["--no-namespaces", ...becoming(), "--"];
  return {
    command: launcherFile,
    arguments: [...given, python.executable, ...pythonFlags, zygote],
    environment: environmentFor(python),
    scratch,
    settings: (machine) => settingsFor(machine, "threads", [...python.readable, ...quotaFiles], scratch),
  };
}

/** With a copy of the zygote. */
function scratchFolder(): string {
  try {
    const scratch = mkdtempSync(path.join(tmpdir(), `${scratchPrefix}${process.pid}-`));
    copyReadable(zygoteFolder, path.join(scratch, "zygote"));
    if (isRoot()) chownSync(scratch, ordinaryUser, ordinaryUser);
    return scratch;
  } catch (error) {
    return noFolder(error);
  }
}

/** For any user, whatever the rights of the folder are. */
function copyReadable(folder: string, target: string): void {
  mkdirSync(target);
  chmodSync(target, 0o755);
  for (const name of readdirSync(folder).filter((one) => one.endsWith(".py"))) {
    copyFileSync(path.join(folder, name), path.join(target, name));
    chmodSync(path.join(target, name), 0o444);
  }
}

const scratchPrefix = "troupe-sandbox-";

/** Folders of processes that were killed before they could remove them. */
function removeAbandoned(): void {
  for (const name of readdirSync(tmpdir()).filter((one) => one.startsWith(scratchPrefix))) {
    const pid = Number(name.slice(scratchPrefix.length).split("-")[0]);
    if (Number.isInteger(pid) && pid > 0 && !existsSync(`/proc/${pid}`))
      removeIfOwn(path.join(tmpdir(), name));
  }
}

/** Somebody else's stays. */
function removeIfOwn(folder: string): void {
  try {
    rmSync(folder, { recursive: true, force: true });
  } catch {
    // Not ours to remove.
  }
}

function settingsIn(readable: readonly string[]): Launch["settings"] {
  return (machine) => settingsFor(machine, "namespaces", readable, "");
}

export function settingsFor(
  machine: string,
  kind: FilterKind,
  readable: readonly string[],
  scratch: string,
): WorkerSettings {
  const filter = encodeFilter(filterFor(machine as Machine, kind)).toString("base64");
  return { namespaces: kind === "namespaces", filter, readable, scratch };
}
