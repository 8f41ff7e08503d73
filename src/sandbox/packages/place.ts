/**
 * Where installed packages are: a virtual environment in the cache, one for each set, version of Python and choice of
 * versions. It may be deleted, and is then installed again.
 */
import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { cacheRoot } from "../../cache-root.ts";
import { packagesDigest, type PackageSet } from "./sets.ts";

/** Written last: without it an installation was interrupted. */
export const completeFile = "troupe-packages.json";

export function packagesFolder(set: PackageSet, root: string = cacheRoot()): string {
  return path.join(root, "python", `${set}-${packagesDigest(set)}`);
}

export interface InstalledPackages {
  readonly folder: string;
  /** The interpreter of the virtual environment. */
  readonly python: string;
  /** `3.12.3`. */
  readonly version: string;
}

/** Null: not installed, or not completely, or its interpreter has gone. */
export function installedPackages(set: PackageSet, root: string = cacheRoot()): InstalledPackages | null {
  const folder = packagesFolder(set, root);
  const python = path.join(folder, "bin", "python");
  if (!existsSync(python)) return null;
  try {
    const { version } = JSON.parse(readFileSync(path.join(folder, completeFile), "utf8")) as {
      version: string;
    };
    return { folder, python, version };
  } catch {
    return null;
  }
}
