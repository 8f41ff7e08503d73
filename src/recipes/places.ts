/** The folders that the paths in a recipe are relative to. */
import { dirname, join, resolve, sep } from "node:path";
import { isPresentSync } from "../present.ts";
import { layoutOf } from "../runs/layout.ts";
import type { Origin } from "./origin.ts";
import { showPath } from "./origin.ts";
import { shippedFolder } from "./shipped.ts";
import { type MappingTree, originAt, type Path } from "./tree.ts";

/** The folder of the file that sets the value at a path, or its nearest parent; if an override does, the current one. */
export function folderAt(tree: MappingTree, path: Path): string {
  return folderOf(originAt(tree, path));
}

function folderOf(origin: Origin): string {
  return origin.kind === "file" ? dirname(origin.file) : process.cwd();
}

/**
 * A path as seen from the working directory. Relative ones are relative to `folderAt`; in included files to the working
 * directory; in the recipe of a run, which has been resolved before, to the one it was trained in (`projectOf`).
 */
export function seenFromHere(tree: MappingTree, path: Path, given: string): string {
  const folder = folderSeenFrom(originAt(tree, path), given);
  return resolve(folder) === process.cwd() ? given : showPath(resolve(folder, given));
}

function folderSeenFrom(origin: Origin, given: string): string {
  if (origin.kind !== "file" || isIncluded(origin.file)) return process.cwd();
  const folder = folderOf(origin);
  return isOfRun(folder) ? projectOf(folder, given) : folder;
}

/** The run whose recipe sets the value at a path; null: none does. */
export function runThatSets(tree: MappingTree, path: Path): string | null {
  const folder = folderAt(tree, path);
  return originAt(tree, path).kind === "file" && isOfRun(folder) ? folder : null;
}

/**
 * Runs do not record where they were trained, by default two folders above: the working directory if the run is in it,
 * otherwise the nearest folder above the run from which the path leads somewhere.
 */
export function projectOf(run: string, given: string): string {
  const above = foldersAbove(resolve(run));
  const here = process.cwd();
  const nearest = [...(above.includes(here) ? [here] : []), ...above];
  return nearest.find((folder) => isPresentSync(resolve(folder, given))) ?? here;
}

function foldersAbove(folder: string): readonly string[] {
  const parent = dirname(folder);
  return parent === folder ? [] : [parent, ...foldersAbove(parent)];
}

function isIncluded(file: string): boolean {
  return [shippedFolder, join(dirname(shippedFolder), "experiments")].some((folder) =>
    file.startsWith(folder + sep),
  );
}

function isOfRun(folder: string): boolean {
  const { metrics, evaluations, result, checkpoints } = layoutOf(folder);
  return [metrics, evaluations, result, checkpoints].some((record) => isPresentSync(record));
}
