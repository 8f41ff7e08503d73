/** The experiments that come with Troupe, and finding one by its file or its name. */
import { existsSync, readdirSync } from "node:fs";
import { basename, join } from "node:path";
import { TroupeError } from "../errors.ts";
import { didYouMean } from "../nearest.ts";

/** The package's own folder is two above this file, in `src/` and in `dist/` alike. */
const shippedFolder = join(import.meta.dirname, "..", "..", "experiments");

/** Files of the experiments that come with Troupe, by name. */
export function shippedExperiments(): Readonly<Record<string, string>> {
  const names = existsSync(shippedFolder) ? readdirSync(shippedFolder) : [];
  const files = names.filter((name) => name.endsWith(".yaml")).toSorted();
  return Object.fromEntries(files.map((name) => [basename(name, ".yaml"), join(shippedFolder, name)]));
}

/**
 * The file of an experiment given as a path or as the name of one that comes with Troupe.
 * @throws TroupeError `bad_arguments` when there is neither
 */
export function findExperiment(given: string): string {
  const shipped = shippedExperiments();
  const found = Object.hasOwn(shipped, given) ? shipped[given] : undefined;
  if (found !== undefined) return found;
  if (existsSync(given)) return given;
  const names = Object.keys(shipped);
  const hint =
    didYouMean(basename(given).replace(/\.ya?ml$/, ""), names) ?? `included experiments: ${names.join(", ")}`;
  throw new TroupeError("bad_arguments", `there is no experiment ${given}; ${hint}`);
}
