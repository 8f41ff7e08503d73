/**
 * Where cells are. A cell's folder ends in its fingerprint, so that a cell whose recipe was changed gets another folder,
 * and experiments that have a cell in common, such as a warm start, find each other's.
 */
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { layoutOf } from "../runs/layout.ts";
import type { Cell } from "./grid.ts";

export interface Folders {
  readonly root: string;
  of(cell: Cell): string;
}

export function foldersIn(root: string): Folders {
  const found = new Map<string, string>();
  for (const name of existsSync(root) ? readdirSync(root).toSorted() : []) {
    const hash = /-([0-9a-f]{12})$/.exec(name)?.[1];
    if (hash !== undefined && !found.has(hash)) found.set(hash, name);
  }
  return { root, of: (cell) => join(root, found.get(cell.hash) ?? `${cell.name}-${cell.hash}`) };
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
