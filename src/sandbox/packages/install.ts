/** Installs a set of packages with pip, from the index that the user has configured. */
import { chmodSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { fillEnvironment, makeEnvironment, pythonVersion } from "../../calls/virtual-environment.ts";
import { TroupeError } from "../../errors.ts";
import { makeDirectory } from "../../runs/durable.ts";
import { acquireLock } from "../../runs/lock.ts";
import { cacheRoot } from "../../cache-root.ts";
import { completeFile, installedPackages, packagesFolder, type InstalledPackages } from "./place.ts";
import { packageSets, type PackageSet } from "./sets.ts";

export interface InstallOptions {
  /** Interpreter to install for. Default: `python3`. */
  readonly python?: string | undefined;
  readonly root?: string;
  /** Lines of progress. */
  readonly onLine?: (line: string) => void;
}

export interface Installation extends InstalledPackages {
  /** It was there before. */
  readonly alreadyDone: boolean;
}

/**
 * Does nothing if they are installed. An interrupted installation starts over.
 * @throws TroupeError `no_sandbox` with what pip or Python said
 */
export async function installPackages(set: PackageSet, options: InstallOptions = {}): Promise<Installation> {
  const { root = cacheRoot(), python = "python3", onLine = () => {} } = options;
  const there = installedPackages(set, root);
  if (there !== null) return { ...there, alreadyDone: true };
  const folder = packagesFolder(set, root);
  rejectHidden(folder);
  const version = await supportedVersion(set, python);
  const parent = path.dirname(folder);
  await makeDirectory(parent, "the next installation starts over");
  const lock = await acquireLock(parent);
  try {
    rmSync(folder, { recursive: true, force: true });
    await fill(set, folder, python, onLine);
    // Programs may run as another user.
    chmodSync(folder, 0o755);
    writeFileSync(path.join(folder, completeFile), `${JSON.stringify({ version })}\n`);
  } catch (error) {
    rmSync(folder, { recursive: true, force: true });
    throw error;
  } finally {
    await lock.release();
  }
  const installed = installedPackages(set, root);
  if (installed === null) throw failed(`${folder} is incomplete after the installation`);
  return { ...installed, alreadyDone: false };
}

/** Programs have a `/tmp` of their own. */
function rejectHidden(folder: string): void {
  if (!`${folder}/`.startsWith("/tmp/")) return;
  throw failed(
    `${folder} is below /tmp, where programs have a folder of their own; set TROUPE_CACHE to another folder`,
  );
}

async function supportedVersion(set: PackageSet, python: string): Promise<string> {
  const version = await pythonVersion(python).catch((error: Error) => {
    throw failed(
      `${python} cannot make a virtual environment (${error.message}); install Python with venv and pip (apt-get install python3-venv), or name another interpreter with TROUPE_PYTHON`,
    );
  });
  const [major = 0, minor = 0] = version.split(".").map(Number);
  const { oldestPython, newestPython } = packageSets[set];
  const isSupported = major === 3 && minor >= oldestPython[1] && minor <= newestPython[1];
  if (isSupported) return version;
  throw failed(
    `${python} is Python ${version}; ${set} needs ${oldestPython.join(".")} to ${newestPython.join(".")}: name another interpreter with TROUPE_PYTHON`,
  );
}

async function fill(set: PackageSet, folder: string, python: string, onLine: (line: string) => void) {
  onLine(`creating a virtual environment in ${folder}`);
  await makeEnvironment(python, folder).catch((error: Error) => {
    throw failed(`no virtual environment can be created in ${folder}: ${error.message}`);
  });
  const { requirements, summary } = packageSets[set];
  await fillEnvironment(folder, { requirements, flags: ["--no-deps"], onLine }).catch((error: Error) => {
    throw failed(
      `pip cannot install ${summary}: ${error.message}\npip uses the index of your configuration (pip config list, PIP_INDEX_URL); repeat the command once it can be reached`,
    );
  });
}

function failed(problem: string): TroupeError {
  return new TroupeError("no_sandbox", `sandbox install: ${problem}.`);
}
