/** The backends that need no service on this machine. */
import { existsSync } from "node:fs";
import { rm } from "node:fs/promises";
import type { Backend, BackendOptions, OpenedBackend } from "../backend.ts";
import { packageSets } from "../packages/sets.ts";
import { withPackages } from "../packages/warm.ts";
import { WorkerSandbox } from "../workers/sandbox.ts";
import { LostWorker, type Launch } from "../workers/worker.ts";
import {
  bubblewrapLaunch,
  isRoot,
  landlockLaunch,
  launcherFile,
  launcherLaunch,
  ordinaryUser,
} from "./launches.ts";
import { findPython, type Python } from "./python.ts";

export const bubblewrap: Backend = {
  name: "bubblewrap",
  isolation: "namespaces, Landlock, seccomp",
  fix: "apt-get install bubblewrap; user namespaces have to be permitted (sysctl user.max_user_namespaces, kernel.apparmor_restrict_unprivileged_userns=0)",
  otherFix: (options) => interpreterFix(options, true),
  open(options) {
    const python = pythonFor(options, true);
    if (typeof python === "string") return Promise.resolve(python);
    return openWorkers(bubblewrap, python, bubblewrapLaunch(python), options);
  },
};

export const launcher: Backend = {
  name: "launcher",
  isolation: "namespaces, Landlock, seccomp",
  fix: "permit user namespaces (sysctl user.max_user_namespaces, kernel.apparmor_restrict_unprivileged_userns=0)",
  otherFix: (options) => launcherFix() ?? interpreterFix(options, false),
  open(options) {
    const python = compiled() ?? pythonFor(options, false);
    if (typeof python === "string") return Promise.resolve(python);
    return openWorkers(launcher, python, launcherLaunch(python), options);
  },
};

/** Without namespaces: programs can start threads, but no processes. */
export const landlock: Backend = {
  name: "launcher",
  isolation: "Landlock, seccomp; threads only",
  fix: "Linux 5.13 or newer with Landlock (lsm=…,landlock in the kernel's command line)",
  otherFix: (options) => launcherFix() ?? interpreterFix(options, true),
  async open(options) {
    const python = compiled() ?? pythonFor(options, true);
    if (typeof python === "string") return python;
    const { scratch, ...launch } = landlockLaunch(python);
    const clean = (): Promise<void> => rm(scratch, { recursive: true, force: true });
    const opened = await openWorkers(landlock, python, launch, options, clean);
    if (typeof opened === "string" || opened.landlock > 0) return opened;
    await opened.sandbox.close();
    return "this kernel has no Landlock";
  },
};

function compiled(): string | null {
  if (process.platform !== "linux") return "it needs Linux";
  return existsSync(launcherFile) ? null : `${launcherFile} is missing`;
}

function launcherFix(): string | null {
  const isMissing = process.platform === "linux" && !existsSync(launcherFile);
  return isMissing ? "compile it: npm rebuild troupe, in a checkout node native/build.mjs" : null;
}

function interpreterFix(options: Pick<BackendOptions, "python">, reachable: boolean): string | null {
  if (process.platform !== "linux" || typeof pythonFor(options, reachable) !== "string") return null;
  return "install Python 3.8 or newer for all users (apt-get install python3), or name another interpreter with TROUPE_PYTHON";
}

/** @param reachable whether the ordinary user must be able to reach its path; otherwise it is mounted for that user */
function pythonFor(
  { python = "python3" }: Pick<BackendOptions, "python">,
  reachable: boolean,
): Python | string {
  if (process.platform !== "linux") return "it needs Linux";
  const user = reachable && isRoot() ? ordinaryUser : undefined;
  const found = findPython(python, user);
  if (typeof found !== "string" || python !== "python3" || user === undefined) return found;
  // If root's own interpreter is in its home folder, the system's may be used.
  const systems = findPython("/usr/bin/python3", user);
  return typeof systems === "string" ? found : systems;
}

async function openWorkers(
  { name, isolation }: Pick<Backend, "name" | "isolation">,
  python: Python,
  launch: Launch,
  { workers, limits, packages, service }: BackendOptions,
  clean?: () => Promise<void>,
): Promise<OpenedBackend | string> {
  const cleaning = clean === undefined ? {} : { clean };
  const added = packages === undefined ? "" : ` with ${packageSets[packages].summary}`;
  const description = `${isolation}; Python ${python.version}${added}`;
  const warm = withPackages(launch, packages);
  const sandbox = new WorkerSandbox({
    backend: name,
    description,
    launch: warm,
    workers,
    limits,
    service,
    ...cleaning,
  });
  try {
    const { landlock: version, proc } = await sandbox.found();
    return { sandbox, python: python.version, landlock: version, wholeLimits: proc };
  } catch (error) {
    await sandbox.close();
    if (error instanceof LostWorker) throw error;
    return (error as Error).message;
  }
}
