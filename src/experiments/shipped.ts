/** The included experiments, and finding one by file or name. */
import { readdirSync } from "node:fs";
import { basename, join } from "node:path";
import { isPresentSync } from "../present.ts";
import { TroupeError } from "../errors.ts";
import { didYouMean } from "../nearest.ts";

/** The package's folder: two levels up, from `src/` and from `dist/`. */
const shippedFolder = join(import.meta.dirname, "..", "..", "experiments");

/** Files of the included experiments, by name. */
export function shippedExperiments(): Readonly<Record<string, string>> {
  const names = isPresentSync(shippedFolder) ? readdirSync(shippedFolder) : [];
  const files = names.filter((name) => name.endsWith(".yaml")).toSorted();
  return Object.fromEntries(files.map((name) => [basename(name, ".yaml"), join(shippedFolder, name)]));
}

/**
 * The file of an experiment given by path or by the name of an included one.
 * @throws TroupeError `bad_arguments` if there is neither
 */
export function findExperiment(given: string): string {
  const shipped = shippedExperiments();
  const found = Object.hasOwn(shipped, given) ? shipped[given] : undefined;
  if (found !== undefined) return found;
  if (isPresentSync(given)) return given;
  const names = Object.keys(shipped);
  const hint =
    didYouMean(basename(given).replace(/\.ya?ml$/, ""), names) ?? `included experiments: ${names.join(", ")}`;
  throw new TroupeError("bad_arguments", `there is no experiment ${given}; ${hint}`);
}
