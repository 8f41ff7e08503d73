/** Installs a set of packages with pip, from the index that the user has configured. */
import { spawn } from "node:child_process";
import { chmodSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
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
  const ask = "import sys, venv, ensurepip; print('.'.join(map(str, sys.version_info[:3])))";
  const answer = await ran(python, ["-I", "-c", ask]).catch((error: Error) => {
    throw failed(
      `${python} cannot make a virtual environment (${error.message}); install Python with venv and pip (apt-get install python3-venv), or name another interpreter with TROUPE_PYTHON`,
    );
  });
  const version = answer.trim();
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
  await ran(python, ["-m", "venv", folder]).catch((error: Error) => {
    throw failed(`no virtual environment can be created in ${folder}: ${error.message}`);
  });
  const { requirements } = packageSets[set];
  const flags = ["--disable-pip-version-check", "--no-input", "--only-binary", ":all:", "--no-deps"];
  const pip = ["-m", "pip", "install", ...flags, ...requirements];
  await ran(path.join(folder, "bin", "python"), pip, onLine).catch((error: Error) => {
    throw failed(
      `pip cannot install ${packageSets[set].summary}: ${error.message}\npip uses the index of your configuration (pip config list, PIP_INDEX_URL); repeat the command once it can be reached`,
    );
  });
}

const longestError = 2000;

/** Standard output; rejects with the last lines of the error if it fails. */
function ran(command: string, given: readonly string[], onLine?: (line: string) => void): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, given, { stdio: ["ignore", "pipe", "pipe"] });
    let [stdout, stderr] = ["", ""];
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      stdout = (stdout + text).slice(-100_000);
      for (const line of text.split("\n").filter((one) => /^(Collecting|Installing)/.test(one)))
        onLine?.(line);
    });
    child.stderr
      .setEncoding("utf8")
      .on("data", (text: string) => (stderr = (stderr + text).slice(-longestError)));
    child.once("error", reject);
    child.once("close", (code) => {
      if (code === 0) resolve(stdout);
      else reject(new Error(stderr.trim() || `exit code ${code}`));
    });
  });
}

function failed(problem: string): TroupeError {
  return new TroupeError("no_sandbox", `sandbox install: ${problem}.`);
}
