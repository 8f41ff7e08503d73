/**
 * Where cells are. A cell's folder ends in its fingerprint, so that a cell whose recipe was changed gets another folder,
 * and experiments that have a cell in common, such as a warm start, find each other's.
 */
import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { TroupeError } from "../errors.ts";
import { layoutOf } from "../runs/layout.ts";
import type { Cell } from "./grid.ts";

export interface Folders {
  readonly root: string;
  of(cell: Cell): string;
}

/** Evaluations of recombined policies are no runs, and stay out of the list of runs. */
const evaluations = ".evaluations";

export function foldersIn(root: string): Folders {
  const found = new Map([...cellsIn(root), ...cellsIn(join(root, evaluations))]);
  const own = ({ kind, name, hash }: Cell) =>
    join(root, ...(kind === "evaluate" ? [evaluations] : []), `${name}-${hash}`);
  return { root, of: (cell) => found.get(cell.hash) ?? own(cell) };
}

/** Folders of cells by fingerprint. */
function cellsIn(folder: string): (readonly [string, string])[] {
  const names = namesIn(folder).toSorted();
  return names.flatMap((name) => {
    const hash = /-([0-9a-f]{12})$/.exec(name)?.[1];
    return hash === undefined ? [] : [[hash, join(folder, name)] as const];
  });
}

function namesIn(folder: string): string[] {
  const found = statSync(folder, { throwIfNoEntry: false });
  if (found === undefined) return [];
  if (found.isDirectory()) return readdirSync(folder);
  throw new TroupeError("bad_arguments", `the runs of an experiment need a folder, and ${folder} is a file`);
}

/** What an evaluation of recombined policies leaves behind. */
export function evaluationFile(directory: string): string {
  return join(directory, "evaluation.json");
}

/** The file that is there when the cell is done, and not before. */
export function doneFile(cell: Cell, folders: Folders): string {
  const directory = folders.of(cell);
  return cell.kind === "train" ? layoutOf(directory).result : evaluationFile(directory);
}
